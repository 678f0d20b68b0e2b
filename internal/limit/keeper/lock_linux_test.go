package keeper

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLockRemoved: a keeper whose lock, socket or whole folder was removed makes them anew and notes again what it holds, so that no second
// one begins beside it, and the next one knows what to take away.
func TestLockRemoved(t *testing.T) {
	b := newBench(t, Options{Poll: 10 * time.Millisecond}, oneRule)
	b.k.Started(targetOf(b.group))
	b.has("1048576")
	notes := func() int {
		files, _ := filepath.Glob(filepath.Join(b.opt.Run, "held", "*.json"))
		return len(files)
	}
	eventually(t, "it is noted", func() bool { return notes() == 1 })
	for _, name := range []string{"keeper.lock", Socket, ""} {
		path := filepath.Join(b.opt.Run, name)
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path, b.opt.Run+".gone-"+name); err != nil {
			t.Fatal(err)
		}
		eventually(t, path+" is made anew", func() bool {
			now, err := os.Stat(path)
			if err != nil || os.SameFile(before, now) || notes() != 1 {
				return false
			}
			s, err := Ask(b.opt.Run)
			return err == nil && s.PID == os.Getpid() && len(s.Containers) == 1
		})
		if _, err := New(b.opt); !errors.Is(err, ErrRunning) {
			t.Errorf("a second keeper after %s was removed: %v", path, err)
		}
	}
	// A policy that turns bad then stops no start: the hook has the one that was good last.
	eventually(t, "the good policy is kept again", func() bool {
		text, err := os.ReadFile(filepath.Join(b.opt.Run, LastGood))
		return err == nil && string(text) == b.text(oneRule)
	})
	b.write("rules: 5\n")
	if done, err := Once(Options{Holder: b.opt.Holder, Policy: b.opt.Policy, Run: b.opt.Run}, targetOf(b.group)); err != nil || len(done.Held) != 1 {
		t.Errorf("Once() with a bad policy = %+v, %v", done, err)
	}
	if !b.said("was removed, and is there again") {
		t.Error("the log says nothing of it")
	}
	b.stop()
	if left, _ := filepath.Glob(filepath.Join(b.opt.Run, "keeper.*")); len(left) > 0 {
		t.Errorf("left %q", left)
	}
	b.write("rules: []\n")
	b.begin()
	b.k.Started(targetOf(b.group))
	b.has("")
}

// TestLockTaken: a keeper that finds its folder taken by another ends, and leaves that one's lock, socket and limits.
func TestLockTaken(t *testing.T) {
	b := newBench(t, Options{Poll: hour}, oneRule)
	b.stop()
	run := func(opt Options) (k *Daemon, ctx context.CancelFunc, done chan error) {
		t.Helper()
		k, err := NewDaemon(opt)
		if err != nil {
			t.Fatal(err)
		}
		c, cancel := context.WithCancel(t.Context())
		done = make(chan error, 1)
		go func() { done <- errors.Join(k.Run(c), k.Close()) }()
		t.Cleanup(cancel)
		return k, cancel, done
	}
	asked := func(k *Daemon) func() bool {
		return func() bool {
			s, err := Ask(b.opt.Run)
			return err == nil && s.Since.Equal(k.began)
		}
	}
	opt := b.opt
	opt.ClearOnStop = true
	first, _, ended := run(opt)
	eventually(t, "the first is asked", asked(first))
	first.Started(targetOf(b.group))
	b.has("1048576")
	if err := os.Remove(filepath.Join(b.opt.Run, "keeper.lock")); err != nil {
		t.Fatal(err)
	}
	second, cancel, done := run(b.opt)
	eventually(t, "the second is asked", asked(second))
	first.Reload()
	select {
	case err := <-ended:
		if !errors.Is(err, ErrRunning) || !strings.Contains(err.Error(), "the lock of this keeper was removed, and it ends") {
			t.Errorf("the first ends with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the first goes on")
	}
	if !asked(second)() {
		t.Error("the second can't be asked any more")
	}
	if _, err := New(opt); !errors.Is(err, ErrRunning) {
		t.Errorf("a third keeper: %v", err)
	}
	b.has("1048576")
	cancel()
	if err := <-done; err != nil {
		t.Errorf("the second ends with %v", err)
	}
}
