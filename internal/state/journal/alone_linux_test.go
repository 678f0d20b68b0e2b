package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/state/filelock"
)

// TestWaitIsTold: a call that waits for another process says for which, once, before it gives up with its context. A process that was
// stopped in a change held up each command for minutes, without a word.
func TestWaitIsTold(t *testing.T) {
	for name, row := range map[string]struct {
		lock, whom string
		call       func(context.Context, *Journal) error
	}{
		"alone": {"thing.lock", fmt.Sprintf("process %d", os.Getpid()), func(ctx context.Context, j *Journal) error {
			return j.Alone(ctx, "thing", func() error { return nil })
		}},
		"an entry": {lockName, "another process", func(ctx context.Context, j *Journal) error { return j.Put(ctx, "thing", "a", 1) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // It waits.
			j := In(t.TempDir())
			if err := os.Mkdir(j.dir, 0o700); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(j.dir, row.lock)
			lock, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Close()
			if err := filelock.Alone(lock); err != nil {
				t.Fatal(err)
			}
			sign(lock)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var mu sync.Mutex
			var told []string
			ctx = OnWait(ctx, func(whom string) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, whom)
				time.AfterFunc(100*time.Millisecond, cancel)
			})
			if err := row.call(ctx, j); !errors.Is(err, context.Canceled) {
				t.Errorf("it ends with %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(told) != 1 || told[0] != row.whom+", which has "+path {
				t.Errorf("told %q", told)
			}
		})
	}
}
