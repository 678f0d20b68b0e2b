package device

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// NotInUse refuses a block device that is mounted, in use as swap, or part of another device: opening it with O_EXCL fails then
// (open(2)). For files O_EXCL has no such meaning, so it looks for them among the files of loop devices and the swap areas.
func NotInUse(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_EXCL|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.EBUSY) {
		return inUse(path)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return fileNotInUse(f, path)
}

func inUse(path string) error {
	return fmt.Errorf("%s is mounted or used by another device: it is never written over", path)
}

// FileNotInUse is NotInUse for an open file, even if its path now leads to another.
func FileNotInUse(f *os.File) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.Mode().IsRegular() {
		return fileNotInUse(f, f.Name())
	}
	other, err := os.OpenFile(f.Name(), os.O_RDONLY|unix.O_EXCL|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.EBUSY) {
		return inUse(f.Name())
	}
	if err != nil {
		return err
	}
	defer other.Close()
	if now, err := other.Stat(); err != nil || !os.SameFile(st, now) {
		return fmt.Errorf("%s: another file took its place after it was looked at", f.Name())
	}
	return nil
}

// fileNotInUse looks for a file among those of loop devices and the swap areas.
func fileNotInUse(f *os.File, path string) error {
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return err
	}
	same := func(other string) bool {
		o, err := os.Stat(other)
		return err == nil && os.SameFile(st, o)
	}
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return err
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && same(strings.TrimSpace(string(b))) {
			return fmt.Errorf("%s is the file of /dev/%s: it is never written over", path, filepath.Base(filepath.Dir(filepath.Dir(f))))
		}
	}
	swaps, err := os.ReadFile("/proc/swaps")
	if err != nil {
		return nil // There are no swap areas.
	}
	for line := range strings.Lines(string(swaps)) {
		if f := strings.Fields(line); len(f) > 0 && same(f[0]) {
			return fmt.Errorf("%s is in use as swap: it is never written over", path)
		}
	}
	return nil
}
