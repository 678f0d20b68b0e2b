// Package journal records what outlives a process: a mount, a loop device, a limit in a shared group, a container, a virtual
// machine. An entry is written before the thing is made, and removed after it is gone. So whatever kills Plimsoll in between,
// the next start finds the entry, and undoes the thing (Sweep) or adopts it.
//
// An entry has a kind and an id, an owner, and a payload that only its kind understands. The owner is a process. It holds a lock
// file for as long as it lives; the kernel releases the lock however the process ends, and the lock can be tested from any PID namespace,
// where process numbers mean something else. On a file system without locks the owner's process identity decides. What is to outlive its maker,
// such as a limit that a command has set, belongs to no process (Keep): no sweep undoes it.
//
// A journal is a folder:
//
//	KIND/ID.json     one entry
//	RANDOM.owner     the lock file of an owner
//	lock             held for the moment in which an entry changes its owner
//	KIND.lock        held while a process changes things of that kind, where that takes several steps (Alone)
//	KIND/ID.lock     held while a process changes that thing (AloneWith)
//
// Kinds lists the kinds of entries, and what removes each.
//
// Every file is replaced by rename, so a reader sees an entry whole or not at all. A power cut may take the youngest
// entries with it, as it takes the mounts, limits and processes that they record.
//
// Easily got wrong: undoing must be safe to repeat, and safe where the thing was never made. Plimsoll may have been killed after the entry was
// written and before the thing was made, or in the middle of an earlier undo.
package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"plimsoll/internal/host/procfs"
	"plimsoll/internal/state/filelock"
)

// A Journal is a folder of entries, seen by one owner. Several goroutines may use it.
type Journal struct {
	dir string

	mu sync.Mutex
	// owner is the file whose lock shows that this owner lives, and name is its name in the folder. Both are unset
	// while it has no entries, and on a file system without locks.
	owner *os.File
	name  string
	// own are the paths of its entries.
	own map[string]bool

	// reading guards files, which has the entries that Entries has read, by kind and file name.
	reading sync.Mutex
	files   map[string]map[string]fileRead
}

// Open returns the journal in folder dir, which is made with the first entry. An empty dir is a journal that records nothing.
func Open(dir string) *Journal {
	return &Journal{dir: dir, own: map[string]bool{}}
}

// In returns the journal of a state folder. An empty state is a journal that records nothing.
func In(state string) *Journal {
	if state == "" {
		return Open("")
	}
	return Open(filepath.Join(state, "journal"))
}

// Put writes an entry of this owner, in place of its older one. It must succeed before the thing is made. If another owner that lives has an entry
// of that kind and id, the error is an OwnedError; if the entry can't be read, it is a DamagedError. Put replaces the entry of a dead owner: a caller
// that needs it sweeps first.
func (j *Journal) Put(ctx context.Context, kind, id string, payload any) error {
	if j.dir == "" {
		return nil
	}
	e, err := newEntry(kind, id, procfs.Self(), payload)
	if err == nil {
		err = j.change(ctx, func() error {
			if err := j.free(kind, id); err != nil {
				return err
			}
			return j.claim(e)
		})
	}
	if err != nil {
		return fmt.Errorf("record %s %s: %w", kind, id, err)
	}
	return nil
}

// free returns an OwnedError if another owner that lives has the entry, and a DamagedError if it can't be read. j.mu is held.
func (j *Journal) free(kind, id string) error {
	old, err := j.read(kind, id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !j.owns(old) && !old.Kept() && j.alive(old):
		return &OwnedError{old}
	}
	return nil
}

// adopt makes this owner the sweeper of an entry whose owner is dead, and returns the entry as it was before. The error is an OwnedError if the
// owner or another sweeper lives, and wraps fs.ErrNotExist if there is no such entry.
func (j *Journal) adopt(ctx context.Context, kind, id string) (before Entry, err error) {
	if j.dir == "" {
		return before, fs.ErrNotExist
	}
	err = j.change(ctx, func() error {
		if before, err = j.read(kind, id); err != nil {
			return err
		}
		if j.alive(before) {
			return &OwnedError{before}
		}
		e, self := before, procfs.Self()
		e.Sweeper = &self
		return j.claim(e)
	})
	if err != nil {
		return Entry{}, fmt.Errorf("adopt %s %s: %w", kind, id, err)
	}
	return before, nil
}

// giveBack undoes an adopt: the entry is again what it was before.
func (j *Journal) giveBack(ctx context.Context, before Entry) error {
	path := j.Path(before.Kind, before.ID)
	err := j.change(ctx, func() error {
		if e, err := j.read(before.Kind, before.ID); err == nil && j.owns(e) {
			if err := errors.Join(j.restoreLock(before.Lock), j.write(before)); err != nil {
				return err
			}
		}
		delete(j.own, path)
		return j.release()
	})
	if err != nil {
		return fmt.Errorf("give back %s %s: %w", before.Kind, before.ID, err)
	}
	return nil
}

// Owns reports whether this owner has the entry, and its file was not removed or replaced. If it can't tell, the
// answer is true.
func (j *Journal) Owns(kind, id string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, err := j.read(kind, id)
	if err != nil {
		return j.own[j.Path(kind, id)] && !errors.Is(err, fs.ErrNotExist)
	}
	return j.owns(e)
}

// Remove removes an entry of this owner, after the thing is gone. Without one it does nothing: what another owner recorded stays.
func (j *Journal) Remove(kind, id string) error {
	if j.dir == "" {
		return nil
	}
	path := j.Path(kind, id)
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.own[path] {
		return nil
	}
	// The file may have been removed, and another owner may have made its own.
	if e, err := j.read(kind, id); err != nil || j.owns(e) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the record of %s %s: %w", kind, id, err)
		}
	}
	delete(j.own, path)
	return j.release()
}

// Alive reports whether the entry's process lives. If it can't tell, the answer is true.
func (j *Journal) Alive(e Entry) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.owns(e) || j.alive(e)
}

// change calls f while no other process changes owners.
func (j *Journal) change(ctx context.Context, f func() error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return j.unwritten(err)
	}
	lock, err := os.OpenFile(filepath.Join(j.dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return j.unwritten(err)
	}
	defer lock.Close()
	since := time.Now()
	for told := false; ; {
		err := filelock.Alone(lock)
		if !errors.Is(err, filelock.ErrLocked) {
			break // On a file system without locks, two that change the same entry at once are not noticed.
		}
		if !told && time.Since(since) > silence {
			told = true
			tellWait(ctx, "another process, which has "+lock.Name())
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", lock.Name(), context.Cause(ctx))
		case <-time.After(time.Millisecond):
		}
	}
	return f()
}

// lockName is the file in the journal's folder that change locks.
const lockName = "lock"

// claim writes an entry that belongs to this owner. j.mu is held.
func (j *Journal) claim(e Entry) error {
	if err := j.lockOwner(); err != nil {
		return j.unwritten(err)
	}
	path := j.Path(e.Kind, e.ID)
	had := j.own[path]
	j.own[path], e.Lock = true, j.name
	if err := j.write(e); err != nil {
		if !had {
			delete(j.own, path)
		}
		return errors.Join(err, j.release())
	}
	return nil
}

// write writes an entry's file, whole or not at all. j.mu is held.
func (j *Journal) write(e Entry) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(j.dir, e.Kind), 0o700); err != nil {
		return j.unwritten(err)
	}
	err = filelock.WriteAhead(j.Path(e.Kind, e.ID), temporary, func(f *os.File) error {
		_, err := f.Write(b)
		return err
	})
	if err != nil {
		return j.unwritten(err)
	}
	return nil
}

// temporary begins the names of files that are being written, after a dot.
const temporary = "entry-"
