package cgroup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
)

// TestTransaction: two targets are written and undone together, after what was changed elsewhere, and the error keeps all that
// its cause said.
func TestTransaction(t *testing.T) {
	for _, version := range []int{1, 2} {
		f := newFake(t, version, "/a", "/b/c")
		if _, err := f.host.Hold(f.target("/a"), Want{Change: limit.Change{Set: limit.Limits{ReadBPS: 5, CPUs: 2}}, Devices: []device.Number{sdb}}); err != nil {
			t.Fatal(err)
		}
		before := f.everything()
		var order []string
		x := f.host.Through(func(path, text string, next func(string, string) error) error {
			order = append(order, text)
			return next(path, text)
		}).Begin()
		change := func() {
			t.Helper()
			order = nil
			for _, g := range []string{"/a", "/b"} {
				if _, err := x.Hold(f.target(g), Want{Change: limit.Change{Set: limit.Limits{ReadBPS: 7, CPUs: 1, Memory: 64 << 20, Weight: 300}}, Devices: []device.Number{sdb}}); err != nil {
					t.Fatal(err)
				}
			}
			if maps.Equal(before, f.everything()) {
				t.Fatal("nothing was written")
			}
		}
		change()
		x.Also("one", func(ctx context.Context) error { order = append(order, "one"); return ctx.Err() })
		x.Also("two", func(context.Context) error { order = append(order, "two"); return nil })
		written := len(order)
		ended, end := context.WithCancel(t.Context())
		end()
		err := x.Undo(ended, errors.Join(&Fault{Why: "refused", Err: syscall.EIO}, errors.New("and something else")))
		if got := err.Error(); !errors.Is(err, syscall.EIO) || got != "refused; the earlier writes were undone\nand something else" {
			t.Errorf("version %d: Undo() = %q", version, got)
		}
		if order[written] != "two" || order[written+1] != "one" || len(order) != 2*written+2 {
			t.Errorf("version %d: the order was %q", version, order)
		}
		if now := f.everything(); !maps.Equal(now, before) {
			t.Errorf("version %d: not as before: %v", version, now)
		}
		if err := x.Undo(t.Context(), syscall.EIO); err != syscall.EIO {
			t.Errorf("version %d: Undo() of nothing = %v", version, err)
		}

		// A text that was made before doesn't hide what is left.
		change()
		x.Also("one", func(context.Context) error { return errors.New("no answer") })
		f.before = func(file, _ string) error {
			if strings.Contains(file, "weight") {
				return syscall.EACCES
			}
			return nil
		}
		err = x.Undo(t.Context(), fmt.Errorf("web: %w", &Fault{Why: "refused"}))
		var fault *Fault
		if !errors.As(err, &fault) || len(fault.Left) < 3 {
			t.Errorf("version %d: Undo() = %#v, want a fault with three left or more", version, err)
		}
		if text := err.Error(); !strings.HasPrefix(text, "web: refused; NOT restored: one (no answer), ") || !strings.Contains(text, " (permission denied)") {
			t.Errorf("version %d: Undo() = %s", version, text)
		}
		if err := x.Undo(t.Context(), errors.New("plain")); err.Error() != "plain" {
			t.Errorf("version %d: Undo() again = %v", version, err)
		}
	}
}
