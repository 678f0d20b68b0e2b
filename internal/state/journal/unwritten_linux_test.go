package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/procfs"
	"plimsoll/internal/testkit/disktest"
)

// TestUnwritten: the error of a folder that is full or can't be written names it and what helps, and nothing half-written is left. Only the kernel's
// words were there.
func TestUnwritten(t *testing.T) {
	full := disktest.Tmpfs(t, "size=64k")
	kept := In(full)
	if err := kept.Keep(t.Context(), "thing", "first", 1); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(full, "room"), make([]byte, 128<<10), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("a folder that is to be full: %v", err)
	}
	closed := disktest.Tmpfs(t, "size=64k")
	disktest.Remount(t, closed, unix.MS_RDONLY)
	for folder, why := range map[string]error{full: unix.ENOSPC, closed: unix.EROFS} {
		j := In(folder)
		for name, err := range map[string]error{
			"Put": j.Put(t.Context(), "thing", "a", 1), "Keep": j.Keep(t.Context(), "thing", "b", 1),
			"Alone": j.Alone(t.Context(), "thing", func() error { return j.Keep(t.Context(), "thing", "c", 1) }),
		} {
			if !errors.Is(err, why) || strings.Count(err.Error(), "see that there is room in "+folder+", and that it can be written") != 1 {
				t.Errorf("%s: %v: %v", name, why, err)
			}
		}
	}
	if left := files(t, full); strings.Join(left, " ") != "journal/lock journal/thing/first.json journal/thing.lock room" {
		t.Errorf("left %q", left)
	}
}

// TestPipesAreNoLocks: a pipe in the place of an owner's lock holds nobody up, whether an entry names it or not. A sweep waited for its
// writer, without an end.
func TestPipesAreNoLocks(t *testing.T) {
	state := t.TempDir()
	j := In(state)
	if err := j.Keep(t.Context(), "thing", "a", 1); err != nil {
		t.Fatal(err)
	}
	e, err := j.Get("thing", "a")
	if err != nil {
		t.Fatal(err)
	}
	e.Owner, e.Lock = procfs.Process{PID: 1 << 30, Boot: "an earlier one", Start: 1}, "named"+ownerSuffix
	if err := j.write(e); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"named", "nobodys"} {
		if err := unix.Mkfifo(filepath.Join(j.dir, name+ownerSuffix), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := In(state).Sweep(t.Context(), map[string]Undo{"thing": func(context.Context, Entry) ([]string, error) { return []string{"a"}, nil }})
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the sweep waits for a pipe")
	}
}
