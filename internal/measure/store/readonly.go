package store

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// unwritable returns the URI options for an existing database that may not be written, or "". SQLite reads one in
// write-ahead mode only if it may write beside it, if the log's files already exist, or if immutable promises that nothing can
// change (https://www.sqlite.org/wal.html#readonly).
func unwritable(path string) string {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		f.Close()
		return ""
	}
	if !errors.Is(err, syscall.EROFS) && !errors.Is(err, os.ErrPermission) {
		return ""
	}
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		return "&mode=ro"
	}
	if errors.Is(err, syscall.EROFS) {
		return "&immutable=1"
	}
	// Another process may still write to it. Content of a log that is created now would be missed, but nothing worse.
	return "&mode=ro&immutable=1"
}

// prepareRead checks that a database that may not be written can be understood.
func (s *Store) prepareRead() error {
	isNew, err := s.isNew(context.Background(), s.db)
	if err == nil && isNew {
		err = errors.New("it is empty, and may not be written: name another state folder with --state")
	}
	return err
}
