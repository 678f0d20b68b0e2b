// Package treetest makes folders of files for tests: a small procfs, sysfs or cgroup tree, written where a
// reader that takes its root as a parameter can be pointed at.
package treetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Make makes files in a temporary folder and returns that. files maps names below it to contents: ROOT in a content
// stands for the folder, and a content that begins with "-> " makes a symbolic link, relative to
// the folder. A name that ends in a slash is an empty folder.
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
