package trial

import (
	"path/filepath"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// freeAt asks the file system for its free blocks, without those reserved for root. A path that doesn't exist yet will be
// on the file system of its nearest existing parent.
func freeAt(path string) (mount string, bytes int64, ok bool) {
	var f unix.Stat_t
	for stat(path, &f) != nil {
		if path == filepath.Dir(path) {
			return "", 0, false
		}
		path = filepath.Dir(path)
	}
	for path != filepath.Dir(path) {
		var up unix.Stat_t
		if stat(filepath.Dir(path), &up) != nil || up.Dev != f.Dev {
			break
		}
		path = filepath.Dir(path)
	}
	var st unix.Statfs_t
	if eintr.Retry(func() error { return unix.Statfs(path, &st) }) != nil || st.Blocks == 0 {
		return "", 0, false // Some FUSE and network file systems don't say.
	}
	return path, int64(st.Bavail) * st.Bsize, true
}

func stat(path string, st *unix.Stat_t) error {
	return eintr.Retry(func() error { return unix.Stat(path, st) })
}
