package procfs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/testkit/treetest"
)

// TestMemory: the kernel's figures for this process and a child.
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

// TestAvailable: the kernel's figure in bytes, and none where the file has none.
func TestAvailable(t *testing.T) {
	if n, ok := Available("/proc"); !ok || n < 1<<20 {
		t.Errorf("this machine has %d bytes, %v", n, ok)
	}
	for text, want := range map[string]int64{"MemTotal: 9 kB\nMemAvailable:     400 kB\n": 400 << 10, "MemTotal: 9 kB\n": -1, "MemAvailable: x kB\n": -1, "MemAvailable:\n": -1, "MemAvailable: -1 kB\n": -1} {
		got, ok := Available(treetest.Make(t, map[string]string{"meminfo": text}))
		if ok != (want >= 0) {
			t.Errorf("%q: known: %v", text, ok)
		}
		if ok && got != want {
			t.Errorf("%q: %d bytes, want %d", text, got, want)
		}
	}
	if _, ok := Available(t.TempDir()); ok {
		t.Error("known without the file")
	}
}

// TestMemoryWithout: a file without the line is an error, not a process without memory.
func TestMemoryWithout(t *testing.T) {
	root := treetest.Make(t, map[string]string{"7/smaps_rollup": "Rss:   12 kB\n"})
	if n, err := Memory(root, 7); err == nil || !strings.Contains(err.Error(), "no Pss") {
		t.Errorf("%d, %v", n, err)
	}
}

// TestDescendants: the descendants of a process are found, each after its parent, and no other process.
func TestDescendants(t *testing.T) {
	root := t.TempDir()
	for pid, parent := range map[int]int{1: 0, 2: 0, 10: 1, 30: 10, 20: 30, 21: 30, 40: 1, 50: 51, 51: 50} {
		dir := filepath.Join(root, strconv.Itoa(pid))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "stat"), fmt.Appendf(nil, "%d (a) b) S %d 1 1 0\n", pid, parent), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for pid, want := range map[int][]int{10: {30, 20, 21}, 30: {20, 21}, 20: {}, 99: {}, 50: {51}} {
		if got := Descendants(root, pid); !slices.Equal(got, want) {
			t.Errorf("Descendants(%d) = %v, want %v", pid, got, want)
		}
	}
}
