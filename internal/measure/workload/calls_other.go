//go:build !unix

package workload

import (
	"errors"
	"io"
	"os"
)

// A file is an open file.
type file struct{ f *os.File }

func openFile(path string, flags int) (file, error) {
	f, err := os.OpenFile(path, flags, 0o644)
	return file{f}, err
}

func (f file) read(p []byte) (int, error) {
	n, err := f.f.Read(p)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// write writes all of p at the file's position.
func (f file) write(p []byte) error {
	_, err := f.f.Write(p)
	return err
}

func (f file) writeAt(p []byte, off int64) error {
	_, err := f.f.WriteAt(p, off)
	return err
}

// datasync syncs data and metadata; this system has no call for the data alone.
func (f file) datasync() error { return f.f.Sync() }

func (f file) close() error { return f.f.Close() }
