//go:build !linux

package workload

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// openToSync opens a file so that it can be read and synced: Windows syncs only what may be written.
func openToSync(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR, 0) }

// syncFolder waits until the files in a folder are stored.
func syncFolder(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := openToSync(path)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}

// dropCached would drop a file from the page cache: other systems have no call that drops one file.
func dropCached(*os.File) error {
	return errors.New("this system can't drop a file from its cache: leave out reads, or take reads: warm")
}

// cachedBytes would say how much of a file is in the page cache.
func cachedBytes(*os.File, int64) (int64, bool) { return 0, false }
