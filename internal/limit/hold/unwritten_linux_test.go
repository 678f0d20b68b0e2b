package hold

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/disktest"
)

// TestUnwritten: a state folder that is full or can't be written is told with what is noted there and what helps, and nothing half-written is left. The
// kernel's words were all.
func TestUnwritten(t *testing.T) {
	full := disktest.Tmpfs(t, "size=64k")
	if err := os.WriteFile(filepath.Join(full, "room"), make([]byte, 128<<10), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("a folder that is to be full: %v", err)
	}
	closed := disktest.Tmpfs(t, "size=64k")
	disktest.Remount(t, closed, unix.MS_RDONLY)
	for folder, why := range map[string]error{full: unix.ENOSPC, closed: unix.EROFS} {
		n := notebook[int]{file: filepath.Join(folder, "notes.json"), about: "which limits were set"}
		err := n.locked(t.Context(), func() error { return n.write([]int{1}) })
		if !errors.Is(err, why) || !strings.Contains(err.Error(), "note which limits were set: ") || !strings.Contains(err.Error(), "see that there is room in "+folder+", and that it can be written") {
			t.Errorf("%v: %v", why, err)
		}
		if left, _ := filepath.Glob(filepath.Join(folder, "*.new")); len(left) > 0 {
			t.Errorf("%v: left %q", why, left)
		}
	}
}
