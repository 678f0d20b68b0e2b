package device

import (
	"maps"
	"path/filepath"
	"testing"

	"plimsoll/internal/disktest"
)

// fixture makes a procfs and a sysfs.
func fixture(t *testing.T, mountinfo string, files map[string]string) FS {
	t.Helper()
	all := map[string]string{"proc/self/mountinfo": mountinfo}
	maps.Copy(all, files)
	root := disktest.Tree(t, all)
	return FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
}
