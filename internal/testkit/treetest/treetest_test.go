package treetest

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMake(t *testing.T) {
	root := Make(t, map[string]string{"a/b": "in ROOT/a\n", "a/link": "-> a/b", "empty/": ""})
	for _, name := range []string{"a/b", "a/link"} {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != "in "+root+"/a\n" {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(root, "empty")); err != nil || len(left) > 0 {
		t.Errorf("empty holds %v, %v", left, err)
	}
}
