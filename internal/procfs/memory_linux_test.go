package procfs

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/treetest"
)

// TestMemory: what the kernel says of this process and of one that it has started.
func TestMemory(t *testing.T) {
	if n, err := Memory("/proc", os.Getpid()); err != nil || n < 1<<20 || n > 4<<30 {
		t.Errorf("this process has %d bytes, %v", n, err)
	}
	if _, err := Memory("/proc", 1<<30); err == nil {
		t.Error("no error for a process that isn't there")
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if got := Children("/proc", os.Getpid(), "sle"); !slices.Equal(got, []int{cmd.Process.Pid}) {
		t.Errorf("children %v, want %d", got, cmd.Process.Pid)
	}
	if got := Children("/proc", os.Getpid(), "other"); len(got) > 0 {
		t.Errorf("children of another name: %v", got)
	}
}

// TestMemoryWithout: a file without the line that is asked for is no process of no memory.
func TestMemoryWithout(t *testing.T) {
	root := treetest.Make(t, map[string]string{"7/smaps_rollup": "Rss:   12 kB\n"})
	if n, err := Memory(root, 7); err == nil || !strings.Contains(err.Error(), "no Pss") {
		t.Errorf("%d, %v", n, err)
	}
}
