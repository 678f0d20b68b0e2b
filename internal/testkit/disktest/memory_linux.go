package disktest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A MemoryGroup is a control group with a memory limit around the group under test, like that of a service manager, a daemon's
// parent group or another container.
type MemoryGroup struct {
	Group
	// Path is its name, as in /proc/<pid>/cgroup.
	Path string
}

// NewMemoryGroup makes a group below the root whose processes may use this many bytes of memory and no swap, and removes it when
// the test ends. Processes must be in a Child of it: with version 2 a group that enables a controller for its children has no
// processes itself. It skips the test if it can't make the group.
//
// With version 2 it enables the memory controller in the root for its children, and leaves it enabled: that has no effect on
// groups without settings, and other programs may use it by then.
func NewMemoryGroup(t testing.TB, limit int64) MemoryGroup {
	t.Helper()
	needRoot(t, "makes a control group")
	root, name, swap := "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"
	most := strconv.FormatInt(limit, 10) // Version 1 counts memory and swap together.
	v2 := false
	if _, err := os.Stat(filepath.Join(root, name)); err != nil {
		root, name, swap, most, v2 = "/sys/fs/cgroup", "memory.max", "memory.swap.max", "0", true
		if b, err := os.ReadFile(filepath.Join(root, "cgroup.controllers")); err != nil || !strings.Contains(string(b), "memory") {
			t.Skip("needs the memory controller")
		}
		giveMemory(t, root)
	}
	g := below(t, root, "/")
	if v2 {
		giveMemory(t, string(g.Group))
	}
	if err := g.Put(name, strconv.FormatInt(limit, 10)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(string(g.Group), swap)); err == nil {
		if err := g.Put(swap, most); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// giveMemory enables the memory controller for the children of a group of version 2.
func giveMemory(t testing.TB, dir string) {
	t.Helper()
	control := filepath.Join(dir, "cgroup.subtree_control")
	if b, err := os.ReadFile(control); err == nil && strings.Contains(string(b), "memory") {
		return
	}
	if err := os.WriteFile(control, []byte("+memory"), 0); err != nil {
		t.Fatal(err)
	}
}

// below makes a group in the group whose folder is parent, and whose name in /proc/PID/cgroup is under.
func below(t testing.TB, parent, under string) MemoryGroup {
	t.Helper()
	g := NewGroup(t, parent)
	return MemoryGroup{g, filepath.Join(under, filepath.Base(string(g)))}
}

// Child makes a group without a limit below g.
func (g MemoryGroup) Child(t testing.TB) MemoryGroup {
	t.Helper()
	return below(t, string(g.Group), g.Path)
}

// Command is the beginning of a command line that runs the rest of the line in the group.
func (g MemoryGroup) Command() []string {
	return []string{"sh", "-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(string(g.Group), "cgroup.procs")}
}
