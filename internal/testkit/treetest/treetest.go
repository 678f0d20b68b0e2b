// Package treetest makes folders of files for tests: a small procfs, sysfs or cgroup tree, for readers that take their root as a
// parameter.
package treetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// HybridMounts is the proc/self/mountinfo of a hybrid machine for Make: blkio and cpu are mounted in version 1 in
// cg/blkio and cg/cpu, and version 2 in cg/unified.
const HybridMounts = `1 0 8:1 / / rw - ext4 /dev/a rw
2 1 0:30 / ROOT/cg/cpu rw - cgroup cgroup rw,cpu,cpuacct
3 1 0:31 / ROOT/cg/blkio rw - cgroup cgroup rw,blkio
4 1 0:32 / ROOT/cg/unified rw - cgroup2 cgroup2 rw
`

// Make makes files in a temporary folder and returns the folder. files maps names below it to contents: ROOT in a content is
// replaced by the folder, and a content that begins with "-> " makes a symbolic link, relative to the folder. A name that ends in a
// slash is an empty folder.
func Make(t testing.TB, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, content := range files {
		if err := put(root, name, content); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// put makes one file, folder or link.
func put(root, name, content string) error {
	full := filepath.Join(root, name)
	if strings.HasSuffix(name, "/") {
		return os.MkdirAll(full, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return err
	}
	if target, ok := strings.CutPrefix(content, "-> "); ok {
		return os.Symlink(filepath.Join(root, target), full)
	}
	return os.WriteFile(full, []byte(strings.ReplaceAll(content, "ROOT", root)), 0o644)
}
