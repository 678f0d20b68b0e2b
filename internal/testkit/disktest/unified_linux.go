package disktest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unifiedRoot is the mount point of version 2 if version 1 isn't mounted. Beside version 1 it is another folder, without these
// controllers.
const unifiedRoot = "/sys/fs/cgroup"

// NewUnifiedGroup makes a group of version 2 below the root, with the named controllers, and removes it when the test ends. It
// skips the test if version 2 doesn't have them.
//
// It enables the controllers in the root and leaves them enabled, as NewMemoryGroup does.
func NewUnifiedGroup(t testing.TB, controllers ...string) Group {
	t.Helper()
	root := Group(unifiedRoot)
	has := root.words("cgroup.controllers")
	for _, c := range controllers {
		if !slices.Contains(has, c) {
			t.Skipf("needs the %s controller of cgroup version 2", c)
		}
	}
	needRoot(t, "makes a control group")
	return root.Child(t, controllers...)
}

// Child makes a group of version 2 below g, and enables the controllers for it in g.
func (g Group) Child(t testing.TB, controllers ...string) Group {
	t.Helper()
	given := g.words("cgroup.subtree_control")
	for _, c := range controllers {
		if slices.Contains(given, c) {
			continue
		}
		if err := g.Put("cgroup.subtree_control", "+"+c); err != nil {
			t.Fatalf("give %s on from %s: %v", c, g, err)
		}
	}
	return NewGroup(t, string(g))
}

// Line returns a device's line in a file of version 2, such as io.max, without the device's number; "" if there is none.
func (g Group) Line(t testing.TB, file, number string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(string(g), file))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, number+" "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// words returns the words of one of the group's files, none if it can't be read.
func (g Group) words(file string) []string {
	b, _ := os.ReadFile(filepath.Join(string(g), file))
	return strings.Fields(string(b))
}
