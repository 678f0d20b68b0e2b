package filelock

import (
	"os"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
)

// beginWriteback begins to write a file's data to its disk. The file system chooses the place of the data with it: ext4
// would otherwise do so up to 30 s later, long after the file has its name. A file system that can't begin early writes
// the data at some later time, so that is no error.
func beginWriteback(f *os.File) error {
	_ = eintr.Retry(func() error { return unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE) })
	return nil
}
