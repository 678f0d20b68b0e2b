package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrGone says that the database was removed, moved or replaced while it was open.
var ErrGone = errors.New("the database is no longer there")

// gone returns nil while path is the file that was opened. SQLite doesn't check: it goes on writing to a file without a
// name, which the kernel drops when this process ends. So gone copies all records into a new folder beside it. The
// error wraps ErrGone and names that folder. The caller holds s.write.
func (s *Store) gone(run string) error {
	if now, err := os.Stat(s.path); err == nil && os.SameFile(now, s.file) {
		return nil
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		// A folder that can't be searched at the moment proves nothing.
		return nil
	}
	dir := filepath.Join(filepath.Dir(s.path), "rescued-"+run)
	err := s.rescue(filepath.Join(dir, filepath.Base(s.path)))
	if err != nil {
		return fmt.Errorf("%w: %s was removed or replaced, and its records could not be saved: %w", ErrGone, s.path, err)
	}
	return fmt.Errorf("%w: %s was removed or replaced; its records are saved; go on with --state %s", ErrGone, s.path, dir)
}

// rescue copies the open database to path, in place of an earlier copy.
func (s *Store) rescue(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	// SQLite refuses to copy into an existing file.
	part := path + ".part"
	os.Remove(part)
	defer os.Remove(part)
	// An idle connection is taken before a new one is made, which would open what is at the path now. The connection
	// that created the schema is always there.
	if _, err := s.db.ExecContext(context.Background(), "VACUUM INTO ?", part); err != nil {
		return err
	}
	// The copy must survive this process as the database would have: it is in the kernel's hands.
	return os.Rename(part, path)
}
