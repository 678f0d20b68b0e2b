package engine

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"plimsoll/internal/state/filelock"
)

// lockSuffix ends the names of the files in a journal's folder whose lock means that the process
// which noted sessions with them lives. The lock ends with its process however that dies, and can be
// asked for from any PID namespace, in which process ids can't.
const lockSuffix = ".owner"

// An ownLock is this process's lock in one journal's folder, held as long as it has sessions noted
// there.
type ownLock struct {
	file *os.File
	// entries are the sessions noted with it.
	entries map[string]bool
}

// ownLocks are this process's locks, by the journal's folder: its engines share one.
var (
	ownLocksMu sync.Mutex
	ownLocks   = map[string]*ownLock{}
)

// hold notes that session id of this process is in the journal, and returns the name of the lock
// that says so; "" where there are no such locks.
func (j journal) hold(id string) (string, error) {
	ownLocksMu.Lock()
	defer ownLocksMu.Unlock()
	l := ownLocks[j.dir]
	if l == nil {
		var b [8]byte
		rand.Read(b[:])
		f, err := os.OpenFile(filepath.Join(j.dir, hex.EncodeToString(b[:])+lockSuffix), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if err != nil {
			return "", err
		}
		if err := filelock.Alone(f); err != nil {
			// A file system without locks, or a sweep that took the new file for a dead
			// one's, and removes it: the process id has to do.
			return "", filelock.Remove(f)
		}
		l = &ownLock{f, map[string]bool{}}
		ownLocks[j.dir] = l
	}
	l.entries[id] = true
	return filepath.Base(l.file.Name()), nil
}

// letGo ends hold for a session; the last one removes the lock's file.
func (j journal) letGo(id string) error {
	ownLocksMu.Lock()
	defer ownLocksMu.Unlock()
	l := ownLocks[j.dir]
	if l == nil || !l.entries[id] {
		return nil
	}
	delete(l.entries, id)
	if len(l.entries) > 0 {
		return nil
	}
	delete(ownLocks, j.dir)
	return filelock.Remove(l.file)
}

// alive reports whether the owner of an entry still runs. In doubt it does.
func (j journal) alive(l leftover) bool {
	if l.Lock == "" {
		return l.Owner.Alive()
	}
	if l.Lock != filepath.Base(l.Lock) || !strings.HasSuffix(l.Lock, lockSuffix) {
		return true // The entry is damaged.
	}
	f, err := os.Open(filepath.Join(j.dir, l.Lock))
	if errors.Is(err, os.ErrNotExist) {
		return l.Owner.Alive()
	}
	if err != nil {
		return true
	}
	defer f.Close()
	return filelock.Alone(f) != nil
}

// dropLocks removes the lock files of dead processes that no entry names any more.
func (j journal) dropLocks() error {
	files, err := os.ReadDir(j.dir)
	if err != nil {
		return nil
	}
	named := map[string]bool{}
	for _, f := range files {
		if l, ok := j.read(f.Name()); ok {
			named[l.Lock] = true
		}
	}
	var errs []error
	for _, e := range files {
		if !strings.HasSuffix(e.Name(), lockSuffix) || named[e.Name()] {
			continue
		}
		path := filepath.Join(j.dir, e.Name())
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		// A process that is about to note its first session holds it, or takes no lock at all.
		if filelock.Alone(f) != nil {
			f.Close()
			continue
		}
		if err := filelock.Remove(f); err != nil {
			errs = append(errs, fmt.Errorf("remove a dead owner's lock: %w", err))
		}
	}
	return errors.Join(errs...)
}
