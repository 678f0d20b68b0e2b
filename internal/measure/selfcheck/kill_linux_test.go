package selfcheck

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/journaltest"
	"plimsoll/internal/testkit/killtest"
	"plimsoll/internal/testkit/leaktest"
)

func init() {
	killtest.Life("selfcheck", func(dir string) error {
		s, err := begin(context.Background(), filepath.Join(dir, "state"), dir)
		if err != nil {
			return err
		}
		file := filepath.Join(s.dir, "file")
		if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
			return err
		}
		l, err := NewLimited(file, s.group(), 100)
		if err != nil {
			return err
		}
		if err := l.Close(); err != nil {
			return err
		}
		return s.end()
	})
}

// TestKilled: a process that prepares a comparison is killed at each call by which it changes something. The next sweep
// removes its folder and its group, and the kernel its loop device.
func TestKilled(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	var withGroup atomic.Int64
	killed := killtest.Test{
		Name:  "selfcheck",
		Kinds: []string{"selfcheck-session"},
		Calls: []string{"mkdirat", "renameat", "write", "ioctl", "unlinkat", "rmdir"},
		After: func(t *testing.T, dir, at, _ string) {
			state := filepath.Join(dir, "state")
			groups := groupsOf(t, state)
			if len(groups) > 0 {
				withGroup.Add(1)
			}
			if _, err := Sweep(t.Context(), state); err != nil {
				t.Errorf("killed at %s: %v", at, err)
			}
			if left := leaktest.Find(append(groups, dir)...); len(left) > 0 {
				t.Errorf("killed at %s: left %v", at, left)
			}
			if left := journaltest.Entries(t, state); len(left) > 0 {
				t.Errorf("killed at %s: the records %v are left", at, left)
			}
			if folders, _ := filepath.Glob(filepath.Join(dir, "plimsoll-*")); len(folders) > 0 {
				t.Errorf("killed at %s: the folders %v are left", at, folders)
			}
		},
	}.Run(t)
	if withGroup.Load() == 0 {
		t.Error("no process was killed while it had a group")
	}
	if killed < 10 {
		t.Errorf("it was killed %d times only", killed)
	}
}

// groupsOf returns the folders of the control groups of the recorded comparisons that exist.
func groupsOf(t *testing.T, state string) (groups []string) {
	t.Helper()
	entries, err := journal.In(state).Entries("selfcheck-session")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		for _, pattern := range []string{"/sys/fs/cgroup/plimsoll-", "/sys/fs/cgroup/*/plimsoll-"} {
			found, _ := filepath.Glob(pattern + e.ID)
			groups = append(groups, found...)
		}
	}
	return groups
}
