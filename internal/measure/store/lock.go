package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/internal/state/filelock"
)

// ownTries and ownPause bound how long Own waits for another process's Alive, which holds the lock for a moment.
const (
	ownTries = 20
	ownPause = 10 * time.Millisecond
)

// The locks of runs are no entries of the journal. A run makes nothing that a sweep would have to undo: its record is in the database, and a killed run
// is shown as broken, and resumed, from there. All users with access to the database may see which runs are alive, while a journal is its user's alone. The
// lock itself is the one of the journal's owners, of package filelock.

// lockPath returns the file whose lock means that run id is being measured.
func (s *Store) lockPath(id string) string {
	return filepath.Join(filepath.Dir(s.path), "runs", id+".lock")
}

// Own marks run id as being measured by this process, until release is called or the process dies for any reason; Close
// alone doesn't end it. The error wraps ErrAlive if the run has an owner.
func (s *Store) Own(id string) (release func() error, err error) {
	if !runID.MatchString(id) {
		return nil, s.unknown(id)
	}
	path := s.lockPath(id)
	// All users with access to the database may see which runs are alive.
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the locks: %w; name another state folder with --state", err)
	}
	for range ownTries {
		f, err := lockFile(path)
		if err == nil {
			s.owned.Store(f, nil)
			filelock.Prune(filepath.Dir(path), isLock)
			return func() error {
				s.owned.Delete(f)
				return filelock.Remove(f)
			}, nil
		}
		if !errors.Is(err, filelock.ErrLocked) {
			return nil, fmt.Errorf("lock run %s: %w", id, err)
		}
		time.Sleep(ownPause)
	}
	return nil, fmt.Errorf("run %s: %w by process %s", id, ErrAlive, ownerOf(path))
}

// lockFile locks path and writes this process's id into it, for people.
func lockFile(path string) (*os.File, error) {
	f, err := filelock.Take(path, 0o644)
	if err != nil {
		return nil, err
	}
	// The file's text is for messages only. If it can't be written (a full disk), the run can still be owned.
	if f.Truncate(0) == nil {
		fmt.Fprintf(f, "%d\n", os.Getpid())
	}
	return f, nil
}

func ownerOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 32))
	if text := strings.TrimSpace(string(b)); err == nil && text != "" {
		return text
	}
	return "unknown"
}

// isLock reports whether a file's name is that of a run's lock.
func isLock(name string) bool {
	id, ok := strings.CutSuffix(name, ".lock")
	return ok && runID.MatchString(id)
}

// Alive reports whether a living process owns run id, this one included. If this user may not try the lock, it reports true, so that a run whose record
// says that it is being measured isn't called broken.
func (s *Store) Alive(id string) (bool, error) {
	if !runID.MatchString(id) {
		return false, s.unknown(id)
	}
	held, err := filelock.Held(s.lockPath(id))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case errors.Is(err, os.ErrPermission):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("see whether run %s is being measured: %w", id, err)
	}
	return held, nil
}
