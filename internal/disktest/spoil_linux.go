package disktest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Fill writes to a new file in dir, until not even a KiB finds room, and returns its path.
func Fill(t testing.TB, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{64 << 10, 1 << 10} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Fatal(err)
		}
	}
	return path
}

// Shutdown makes an ext4 or xfs answer everything with EIO and forget what it has not written,
// as when its power or its device is gone (EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH,
// include/uapi/linux/ext4.h; XFS_IOC_GOINGDOWN is the same call).
func Shutdown(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	const goingDown, noLogFlush = 0x8004587d, 2
	return unix.IoctlSetPointerInt(int(f.Fd()), goingDown, noLogFlush)
}
