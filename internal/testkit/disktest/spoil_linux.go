package disktest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Fill writes to a new file in dir until there is no room for another KiB, and returns its path.
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

// Shutdown makes an ext4 or xfs answer every request with EIO and drop unwritten data, as if it had lost its power or its device
// (EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH, include/uapi/linux/ext4.h; XFS_IOC_GOINGDOWN is the same call).
func Shutdown(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	const goingDown, noLogFlush = 0x8004587d, 2
	return unix.IoctlSetPointerInt(int(f.Fd()), goingDown, noLogFlush)
}

// Vanish removes all blocks from a test's loop device, as when a disk is pulled: it empties the device's file, and sets the device's
// size to match (LOOP_SET_CAPACITY, include/uapi/linux/loop.h). From then on every request fails below the file system, which is not
// informed.
func Vanish(device string) error {
	sysfs := filepath.Join("/sys/block", filepath.Base(device))
	image, err := os.ReadFile(filepath.Join(sysfs, "loop/backing_file"))
	if err != nil {
		return err
	}
	f, err := os.Open(device)
	if err != nil {
		return err
	}
	defer f.Close()
	// A write in progress may make the file longer again.
	for range 100 {
		if err := os.Truncate(strings.TrimSpace(string(image)), 0); err != nil {
			return err
		}
		if _, err := unix.IoctlRetInt(int(f.Fd()), unix.LOOP_SET_CAPACITY); err != nil {
			return fmt.Errorf("%s: set its capacity: %w", device, err)
		}
		if size, err := os.ReadFile(filepath.Join(sysfs, "size")); err != nil || strings.TrimSpace(string(size)) == "0" {
			return err
		}
	}
	return fmt.Errorf("%s still has blocks", device)
}
