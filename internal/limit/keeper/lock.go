package keeper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"plimsoll/internal/conf/controlfile"
	"plimsoll/internal/state/filelock"
)

// A claim is the lock by which a keeper has its folder for itself. Whoever tidies up may remove its file while it is in use, and the next keeper
// would then take the folder for free.
type claim struct {
	// mu guards lock.
	mu   sync.Mutex
	lock *os.File
	// unclaimed is why the lock can't be made anew, "" if it is there.
	unclaimed string
}

func (k *Keeper) lockPath() string { return filepath.Join(k.opt.Run, "keeper.lock") }

// lock makes this the only keeper of a folder.
func lock(path string) (*os.File, error) {
	for range 10 {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := filelock.Alone(f); err != nil {
			who, _ := controlfile.Read(path, 64)
			f.Close()
			if errors.Is(err, filelock.ErrLocked) {
				return nil, fmt.Errorf("%w: process %s has %s; see it with plimsoll daemon --status", ErrRunning, who, path)
			}
			return nil, err
		}
		// Its last owner may have removed it between the two.
		a, errA := f.Stat()
		b, errB := os.Stat(path)
		if errA == nil && errB == nil && os.SameFile(a, b) {
			_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
			if err == nil {
				err = f.Truncate(int64(len(strconv.Itoa(os.Getpid()))))
			}
			if err != nil {
				return nil, errors.Join(err, filelock.Remove(f))
			}
			return f, nil
		}
		f.Close()
	}
	return nil, fmt.Errorf("%s: it is made and removed by others all the time", path)
}

// unlock gives the folder up. A file that is another keeper's by now is left alone.
func (k *Keeper) unlock() error {
	if !k.Locked() {
		return k.lock.Close()
	}
	return filelock.Remove(k.lock)
}

// Locked reports whether the folder is this keeper's: nobody has removed its lock.
func (k *Keeper) Locked() bool {
	k.claim.mu.Lock()
	defer k.claim.mu.Unlock()
	own, err := k.lock.Stat()
	return err == nil && isFile(k.lockPath(), own)
}

func isFile(path string, own fs.FileInfo) bool {
	info, err := os.Stat(path)
	return err == nil && own != nil && os.SameFile(info, own)
}

// guard makes the lock anew if somebody has removed it, and notes again what may have gone with it: what is held, and the
// policy in force, without which a bad one would stop the hook's starts. The
// error is that another keeper has the folder by now: this one has to end, and leaves it what there is.
func (k *Keeper) guard() error {
	if k.Locked() {
		return nil
	}
	err := k.reclaim()
	switch {
	case errors.Is(err, ErrRunning):
		return fmt.Errorf("the lock of this keeper was removed, and it ends: %w", err)
	case err != nil:
		// It is tried again at the next look.
		if k.unclaimed != err.Error() {
			k.logf("the lock in %s was removed, and can't be made anew: %v", k.opt.Run, err)
		}
		k.unclaimed = err.Error()
		return nil
	}
	k.unclaimed = ""
	k.logf("the lock in %s was removed, and is there again", k.opt.Run)
	k.mu.Lock()
	text := k.loaded.text
	k.mu.Unlock()
	k.keepGood(text)
	k.background(func() {
		for _, e := range k.every() {
			e.mu.Lock()
			if len(e.held) > 0 && !e.gone {
				if err := k.store.save(e); err != nil {
					k.logf("%s: %v", e.name(), err)
				}
			}
			e.mu.Unlock()
		}
	})
	return nil
}

// reclaim locks the folder again.
func (k *Keeper) reclaim() error {
	// It makes the folders.
	if _, err := newStore(filepath.Join(k.opt.Run, "held"), k.holder.FS.Proc); err != nil {
		return err
	}
	f, err := lock(k.lockPath())
	if err != nil {
		return err
	}
	k.claim.mu.Lock()
	defer k.claim.mu.Unlock()
	k.lock.Close()
	k.lock = f
	return nil
}
