package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

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
