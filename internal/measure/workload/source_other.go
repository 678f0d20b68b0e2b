//go:build !linux

package workload

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// openToSync opens a file so that it can be read and synced: Windows syncs only files that are open for writing.
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

// dropCached fails: other systems have no call that drops one file from the page cache.
func dropCached(*os.File) error {
	return errors.New("this system can't drop a file from its cache: leave out reads, or use reads: warm")
}

// cachedBytes is unknown on other systems.
func cachedBytes(*os.File, int64) (int64, bool) { return 0, false }
