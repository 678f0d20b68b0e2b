//go:build !linux

package workload

import "os"

// openLook opens a file to look at it, and to cut it if it may be written.
func openLook(path string, write bool) (*os.File, error) {
	flags := os.O_RDONLY
	if write {
		flags = os.O_RDWR
	}
	return os.OpenFile(path, flags, 0)
}

// createNew makes a file where there is none.
func createNew(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
}

// notStorage and noRoom don't know the interfaces of other kernels.
func notStorage(*os.File) error { return nil }
func noRoom(string) error       { return nil }
