package device

import (
	"maps"
	"path/filepath"
	"testing"

	"plimsoll/internal/testkit/treetest"
)

// fixture makes a procfs and a sysfs.
func fixture(t *testing.T, mountinfo string, files map[string]string) FS {
	t.Helper()
	all := map[string]string{"proc/self/mountinfo": mountinfo}
	maps.Copy(all, files)
	root := treetest.Make(t, all)
	return FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
}
