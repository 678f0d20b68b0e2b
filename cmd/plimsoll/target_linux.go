package main

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// writable refuses a folder in which this user may make no file, before every cell of it fails
// in every block. Other reasons, such as a disk that went read-only, are the trials' to find.
func writable(path string) error {
	if err := unix.Access(path, unix.W_OK|unix.X_OK); errors.Is(err, unix.EACCES) {
		return fmt.Errorf("%s can't be written: %w", path, err)
	}
	return nil
}

// notInUse refuses a block device that is mounted, in use as swap, or part of
// another device: opening it with O_EXCL fails then (open(2)). O_EXCL means nothing for files.
func notInUse(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_EXCL|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("%s is mounted or used by another device: it is never written over", path)
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	return unix.Close(fd)
}
