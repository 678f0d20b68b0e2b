package journal

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"plimsoll/internal/host/procfs"
	"plimsoll/internal/state/filelock"
)

// ownerSuffix ends the names of owners' lock files.
const ownerSuffix = ".owner"

// held are the lock files of all owners of this process. Go closes files that nothing refers to: without this, the
// entries of a Journal that its user dropped would seem to belong to a dead owner while the process lives.
var held sync.Map

// lockOwner makes this owner's lock file, if it has none. claim calls it, inside change.
func (j *Journal) lockOwner() error {
	if j.owner != nil {
		return nil
	}
	var b [8]byte
	rand.Read(b[:])
	f, err := os.OpenFile(filepath.Join(j.dir, hex.EncodeToString(b[:])+ownerSuffix), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if filelock.Alone(f) != nil {
		return filelock.Remove(f) // There are no locks here. A sweep can't have this one: dropLocks waits for change.
	}
	held.Store(f, true)
	j.owner, j.name = f, filepath.Base(f.Name())
	return nil
}

// release removes the lock file of an owner without entries. j.mu is held.
func (j *Journal) release() error {
	if j.owner == nil || len(j.own) > 0 {
		return nil
	}
	f := j.owner
	held.Delete(f)
	j.owner, j.name = nil, ""
	return filelock.Remove(f)
}

// owns reports whether this owner holds the entry. j.mu is held.
func (j *Journal) owns(e Entry) bool {
	return j.own[j.Path(e.Kind, e.ID)] && e.Lock == j.name && e.Process() == procfs.Self()
}

// alive reports whether an entry's process, another than this one, still runs. If that is unknown, it is true.
func (j *Journal) alive(e Entry) bool {
	if !strings.HasSuffix(e.Lock, ownerSuffix) {
		return e.Process().Alive()
	}
	locked, err := filelock.Held(filepath.Join(j.dir, e.Lock))
	if errors.Is(err, fs.ErrNotExist) {
		return e.Process().Alive() // Another program removed the lock file.
	}
	return locked || err != nil
}

// dropLocks removes the lock files of dead owners that no entry names any more. No entry changes its owner meanwhile: a
// lock file that lockOwner has made and not yet locked looks like a dead owner's.
func (j *Journal) dropLocks(ctx context.Context) error {
	if list, err := j.unnamed(); err != nil || len(list) == 0 {
		return err
	}
	return j.change(ctx, func() error {
		list, err := j.unnamed()
		errs := []error{err}
		for _, path := range list {
			f, err := os.Open(path)
			if err != nil {
				continue
			}
			if filelock.Alone(f) != nil {
				f.Close() // Its owner lives, and has removed its last entry.
				continue
			}
			if err := filelock.Remove(f); err != nil {
				errs = append(errs, fmt.Errorf("remove a dead owner's lock: %w", err))
			}
		}
		return errors.Join(errs...)
	})
}

// restoreLock makes a dead owner's lock file again, unlocked, if a sweep has removed it while no entry named it. Without
// the file, an owner of another PID namespace would pass for alive. name is empty where there are no locks.
func (j *Journal) restoreLock(name string) error {
	if !strings.HasSuffix(name, ownerSuffix) {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(j.dir, name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return j.unwritten(err)
	}
	return f.Close()
}

// unnamed are the lock files that no entry names. It is empty if an entry can't be read, since that entry may name any.
func (j *Journal) unnamed() (paths []string, err error) {
	files, err := os.ReadDir(j.dir)
	if err != nil {
		return nil, nil
	}
	kinds, err := j.Kinds()
	if err != nil {
		return nil, err
	}
	named := map[string]bool{}
	for _, kind := range kinds {
		list, err := j.Entries(kind)
		if err != nil {
			return nil, nil // Sweep has returned the error.
		}
		for _, e := range list {
			named[e.Lock] = true
		}
	}
	for _, f := range files {
		// Whoever opened a pipe would wait for its writer.
		if strings.HasSuffix(f.Name(), ownerSuffix) && f.Type().IsRegular() && !named[f.Name()] {
			paths = append(paths, filepath.Join(j.dir, f.Name()))
		}
	}
	return paths, nil
}

// dropTemporary removes the temporary files of dead owners, and the lock files of killed AloneWiths.
func (j *Journal) dropTemporary() error {
	kinds, err := j.Kinds()
	for _, kind := range kinds {
		dir := filepath.Join(j.dir, kind)
		filelock.Prune(dir, func(name string) bool { return strings.HasSuffix(name, ".lock") })
		_, e := filelock.Sweep(dir, temporary)
		err = errors.Join(err, e)
	}
	return err
}
