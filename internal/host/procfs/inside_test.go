package procfs

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// TestInside: if two containers share a namespace of process ids (docker run --pid container:x), the orphans of the second become
// children of the first one's first process. They belong to the second; a child of the first with mounts of its own belongs to the
// first.
func TestInside(t *testing.T) {
	root := t.TempDir()
	for _, p := range []struct {
		pid, parent  int
		mounts, pids string
	}{
		{1, 0, "host", "host"},
		{100, 1, "host", "host"},      // A shim.
		{200, 100, "x", "x"},          // The first container,
		{201, 200, "x", "x"},          // its child,
		{202, 200, "unshared", "x"},   // one with mounts of its own,
		{203, 200, "host", "x"},       // one that entered the host's mounts,
		{204, 100, "x", "x"},          // one from the engine's exec,
		{300, 100, "y", "x"},          // the second container,
		{301, 300, "y", "x"},          // its child,
		{302, 200, "y", "x"},          // its orphan,
		{303, 302, "unshared-y", "x"}, // and a child of that.
	} {
		dir := filepath.Join(root, strconv.Itoa(p.pid))
		if err := os.MkdirAll(filepath.Join(dir, "ns"), 0o755); err != nil {
			t.Fatal(err)
		}
		stat := strconv.Itoa(p.pid) + " (sh) S " + strconv.Itoa(p.parent) + " 1 1 0 -1 4194560 100 0 0 0 1 1 0 0 20 0 1 0 4711 1000 10\n"
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o644); err != nil {
			t.Fatal(err)
		}
		for name, to := range map[string]string{"mnt": p.mounts, "pid": p.pids} {
			if err := os.Symlink(to, filepath.Join(dir, "ns", name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Symlink("1", filepath.Join(root, "self")); err != nil {
		t.Fatal(err)
	}
	for pid, want := range map[int][]int{200: {200, 201, 202, 203, 204}, 300: {300, 301, 302, 303}, 301: {301}} {
		got := Look(root).Inside(pid)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("Inside(%d) = %v, want %v", pid, got, want)
		}
	}
}
