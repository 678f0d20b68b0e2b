package winetest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFindLeavesNothing: no folder of a Wine server stays in the folder for temporary files. The test has such a folder of its
// own, because other programs may use the usual one meanwhile.
func TestFindLeavesNothing(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	var prefix string
	t.Run("wine", func(t *testing.T) {
		w := Find(t)
		prefix = w.Prefix
		if out, err := w.Run(t, "cmd", "/c", "echo here"); err != nil {
			t.Errorf("cmd: %v\n%s", err, out)
		}
	})
	if prefix == "" {
		t.Skip("needs Wine")
	}
	if left, err := filepath.Glob(filepath.Join(tmp, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := os.Stat(prefix); !os.IsNotExist(err) {
		t.Errorf("the prefix %s is still there: %v", prefix, err)
	}
	// Wine's processes have the prefix in their environment.
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range environs {
		env, _ := os.ReadFile(name)
		if slices.Contains(strings.Split(string(env), "\x00"), "WINEPREFIX="+prefix) {
			t.Errorf("%s: a process of %s still runs", filepath.Dir(name), prefix)
		}
	}
}
