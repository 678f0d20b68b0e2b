// Package eintr repeats system calls that a signal interrupted.
//
// Go's runtime sends its threads SIGURG to preempt them. So any call of golang.org/x/sys/unix that waits may end with EINTR, even if no
// other process sends a signal: fsync or stat on FUSE, fallocate on tmpfs, flock on NFS. The package os retries such calls; unix doesn't.
//
// It is not for close(2), after which the descriptor is closed, for connect(2), which continues meanwhile, or for the mount of a
// network file system: see the worker's withoutSignals.
package eintr

import "syscall"

// Retry calls f again as long as a signal interrupts it.
func Retry(f func() error) error {
	for {
		if err := f(); err != syscall.EINTR {
			return err
		}
	}
}

// Value is Retry for calls that have a result.
func Value[T any](f func() (T, error)) (T, error) {
	for {
		if v, err := f(); err != syscall.EINTR {
			return v, err
		}
	}
}
