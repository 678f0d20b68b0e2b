package hold

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"plimsoll/internal/filelock"
	"plimsoll/internal/regular"
)

// A notebook is a file in which one process notes what another, later, has to know of what it has changed.
type notebook[T any] struct {
	// file is where it is, and about what it is on: for an error of one that can't be read.
	file, about string
}

// notesMax is more than notes of all of a machine's devices take.
const notesMax = 16 << 20

// read returns what is noted; nothing where there is no file.
func (n notebook[T]) read() ([]T, error) {
	b, err := regular.Read(n.file, notesMax)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []T
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, fmt.Errorf("%s: %w; it notes %s: look at them, and remove it", n.file, err, n.about)
	}
	return all, nil
}

// write replaces what is noted, whole or not at all. No notes are no file.
func (n notebook[T]) write(all []T) error {
	if len(all) == 0 {
		if err := os.Remove(n.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(n.file+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(n.file+".new", n.file)
}

// lockWait is how long another process may hold the notes: it writes a few files meanwhile.
const lockWait = 10 * time.Second

// locked calls f while no other process has the notebook.
func (n notebook[T]) locked(ctx context.Context, f func() error) error {
	if err := os.MkdirAll(filepath.Dir(n.file), 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(n.file+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	for end := time.Now().Add(lockWait); ; {
		err := filelock.Alone(lock)
		if err == nil {
			return f()
		}
		if !errors.Is(err, filelock.ErrLocked) || time.Now().After(end) {
			return fmt.Errorf("%s: %w", lock.Name(), err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
