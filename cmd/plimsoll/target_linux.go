package main

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

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
