package hold

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/state/filelock"
	"plimsoll/internal/state/journal"
)

// TestChangeWaits: who needs the notes waits for a change that asks slow engines, as long as that may take, or until it is
// interrupted. The clock is the test's.
func TestChangeWaits(t *testing.T) {
	h := holder(t)
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, c := &Scope{GroupSets: []GroupSet{{DeviceWide: true}}}, limit.Change{Set: limit.Limits{WriteBPS: 1 << 20}}
		around := func(ctx context.Context, apply func()) error {
			_, err := h.DeviceLimits(folder).Change(ctx, s, c, false, func() ([]Done, error) {
				apply()
				return nil, nil
			})
			return err
		}
		// slow has the notes for a time, from when it returns.
		slow := func(d time.Duration) (wait func()) {
			begun, done := make(chan bool), make(chan error)
			go func() {
				done <- around(t.Context(), func() {
					begun <- true
					time.Sleep(d)
				})
			}()
			<-begun
			return func() {
				if err := <-done; err != nil {
					t.Errorf("the first: %v", err)
				}
			}
		}
		// Eight calls of an engine's API that each take all of their time.
		wait, applied := slow(8*30*time.Second), false
		if err := around(t.Context(), func() { applied = true }); err != nil || !applied {
			t.Errorf("the second: %v, applied: %v", err, applied)
		}
		wait()

		not := func() { t.Error("applied beside the first") }
		who := fmt.Sprintf("process %d", os.Getpid())
		wait = slow(journal.Patience + time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := around(ctx, not); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "waiting for "+who) {
			t.Errorf("interrupted: %v", err)
		}
		wait()
		wait = slow(journal.Patience + time.Minute)
		if err := around(t.Context(), not); !errors.Is(err, filelock.ErrLocked) || !strings.Contains(err.Error(), who) {
			t.Errorf("never let in: %v", err)
		}
		wait()
	})
}
