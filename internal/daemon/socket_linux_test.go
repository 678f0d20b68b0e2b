package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/limit/keeper"
)

// TestSocketRemoved: a daemon whose socket or whole folder was removed makes them anew.
func TestSocketRemoved(t *testing.T) {
	b := newBench(t, keeper.Options{Poll: 10 * time.Millisecond}, oneRule)
	b.d.Started(targetOf(b.group))
	b.has(b.group, "1048576")
	for _, name := range []string{Socket, ""} {
		path := filepath.Join(b.opt.Run, name)
		if err := os.Rename(path, b.opt.Run+".gone-"+name); err != nil {
			t.Fatal(err)
		}
		b.eventually(path+" is made anew", func() bool {
			s, err := Ask(b.opt.Run)
			return err == nil && s.PID == os.Getpid() && len(s.Containers) == 1
		})
	}
	b.eventually("the log says so", func() bool { return b.said("the socket in " + b.opt.Run + " was removed, and has been created again") })
	b.stop()
	if left, _ := filepath.Glob(filepath.Join(b.opt.Run, Socket)); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	if _, err := Ask(b.opt.Run); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Ask() without a daemon = %v", err)
	}
}

// TestFolderTaken: a daemon that finds its folder taken by another ends, and leaves that one's lock, socket and limits.
func TestFolderTaken(t *testing.T) {
	b := newBench(t, keeper.Options{Poll: time.Hour}, oneRule)
	b.stop()
	run := func(opt keeper.Options) (d *Daemon, ctx context.CancelFunc, done chan error) {
		t.Helper()
		d, err := New(opt)
		if err != nil {
			t.Fatal(err)
		}
		c, cancel := context.WithCancel(t.Context())
		done = make(chan error, 1)
		go func() { done <- errors.Join(d.Run(c), d.Close()) }()
		t.Cleanup(cancel)
		return d, cancel, done
	}
	asked := func(d *Daemon) func() bool {
		return func() bool {
			s, err := Ask(b.opt.Run)
			return err == nil && s.Since.Equal(d.Keeper.Status().Since)
		}
	}
	opt := b.opt
	opt.ClearOnStop = true
	first, _, ended := run(opt)
	b.eventually("the first is asked", asked(first))
	first.Started(targetOf(b.group))
	b.has(b.group, "1048576")
	if err := os.Remove(filepath.Join(b.opt.Run, "journal", "keeper", "daemon.json")); err != nil {
		t.Fatal(err)
	}
	second, cancel, done := run(b.opt)
	b.eventually("the second is asked", asked(second))
	first.Reload()
	select {
	case err := <-ended:
		if !errors.Is(err, keeper.ErrRunning) || !strings.Contains(err.Error(), "the lock of this daemon was removed, and it ends") {
			t.Errorf("the first ends with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the first goes on")
	}
	if !asked(second)() {
		t.Error("the second can't be asked any more")
	}
	if _, err := New(opt); !errors.Is(err, keeper.ErrRunning) {
		t.Errorf("a third keeper: %v", err)
	}
	b.has(b.group, "1048576")
	cancel()
	if err := <-done; err != nil {
		t.Errorf("the second ends with %v", err)
	}
}
