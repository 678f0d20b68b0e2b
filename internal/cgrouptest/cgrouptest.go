//go:build linux

// Package cgrouptest makes control groups of a test's own, with a limit on memory, around what is
// tested: as a service manager, a daemon's parent group or another container has them.
//
// It touches no group that it did not make but for one thing on version 2: a controller that the root
// doesn't give on to its children is given on, which the kernel allows without an effect on
// groups that set nothing. It is left so, since whoever else makes groups meanwhile may use it.
package cgrouptest

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A Group is a control group in the hierarchy that has the memory controller.
type Group struct {
	// Path names it as /proc/<pid>/cgroup does.
	Path string
	dir  string
}

var groups atomic.Int64

// Memory makes a group below the root whose processes may use so many bytes of memory, and no swap
// beyond, and removes it when the test ends. Processes belong into a Child of it, since on version 2
// a group that gives a controller on has none itself. The test is skipped where that can't be.
func Memory(t testing.TB, limit int64) *Group {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root is needed, to make control groups")
	}
	root, name, swap := "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"
	v2 := false
	if _, err := os.Stat(filepath.Join(root, name)); err != nil {
		root, name, swap, v2 = "/sys/fs/cgroup", "memory.max", "memory.swap.max", true
		if b, err := os.ReadFile(filepath.Join(root, "cgroup.controllers")); err != nil || !strings.Contains(string(b), "memory") {
			t.Skip("the memory controller is needed")
		}
		give(t, root)
	}
	g := &Group{Path: "/plimsoll-test-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(groups.Add(1), 10)}
	g.dir = filepath.Join(root, g.Path)
	g.make(t)
	if v2 {
		give(t, g.dir)
	}
	g.write(t, name, strconv.FormatInt(limit, 10))
	if _, err := os.Stat(filepath.Join(g.dir, swap)); err == nil {
		most := strconv.FormatInt(limit, 10) // Version 1 counts memory and swap together.
		if v2 {
			most = "0"
		}
		g.write(t, swap, most)
	}
	return g
}

// give lets the children of a group of version 2 have the memory controller.
func give(t testing.TB, dir string) {
	t.Helper()
	control := filepath.Join(dir, "cgroup.subtree_control")
	if b, err := os.ReadFile(control); err == nil && strings.Contains(string(b), "memory") {
		return
	}
	if err := os.WriteFile(control, []byte("+memory"), 0); err != nil {
		t.Fatal(err)
	}
}

// Child makes a group below g, which has no limit of its own.
func (g *Group) Child(t testing.TB, name string) *Group {
	t.Helper()
	c := &Group{Path: filepath.Join(g.Path, name), dir: filepath.Join(g.dir, name)}
	c.make(t)
	return c
}

// Add moves a process into the group; what it starts from then on is in it as well.
func (g *Group) Add(t testing.TB, pid int) {
	t.Helper()
	g.write(t, "cgroup.procs", strconv.Itoa(pid))
}

// Command is the beginning of a command line that runs the rest of it in the group.
func (g *Group) Command() []string {
	return []string{"sh", "-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(g.dir, "cgroup.procs")}
}

// make makes the group's folder, and removes it when the test ends: what was in it has to have
// ended by then, which the kernel may take a moment to see.
func (g *Group) make(t testing.TB) {
	t.Helper()
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := syscall.Rmdir(g.dir)
		for end := time.Now().Add(10 * time.Second); errors.Is(err, syscall.EBUSY) && time.Now().Before(end); err = syscall.Rmdir(g.dir) {
			time.Sleep(10 * time.Millisecond)
		}
		if err != nil {
			left, _ := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
			t.Errorf("remove group %s: %v; in it: %q", g.Path, err, left)
		}
	})
}

func (g *Group) write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0); err != nil {
		t.Fatal(err)
	}
}
