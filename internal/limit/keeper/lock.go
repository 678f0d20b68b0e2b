package keeper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"plimsoll/internal/conf/controlfile"
	"plimsoll/internal/state/filelock"
)

// A claim is by what a keeper has its folder for itself and can be asked: the lock and the socket. Whoever tidies up may remove the
// files of both while they are in use, and the next keeper would then take the folder for free.
type claim struct {
	lock     *os.File
	listener net.Listener
	// socket is the file that listener has made.
	socket fs.FileInfo
	// unclaimed is why they can't be made anew, "" if they are there.
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
	if !k.locked() {
		return k.lock.Close()
	}
	return filelock.Remove(k.lock)
}

// locked reports whether the lock is that of the file at its path.
func (k *Keeper) locked() bool {
	own, err := k.lock.Stat()
	return err == nil && isFile(k.lockPath(), own)
}

func isFile(path string, own fs.FileInfo) bool {
	info, err := os.Stat(path)
	return err == nil && own != nil && os.SameFile(info, own)
}

// listen is serve, and notes by which file.
func (k *Keeper) listen(ctx context.Context) (err error) {
	if err = k.serve(ctx); err == nil {
		k.socket, err = os.Stat(filepath.Join(k.opt.Run, Socket))
	}
	return err
}

// hush ends listening. The socket of another keeper stays.
func (k *Keeper) hush() {
	if l, ok := k.listener.(*net.UnixListener); ok && !isFile(filepath.Join(k.opt.Run, Socket), k.socket) {
		l.SetUnlinkOnClose(false)
	}
	k.listener.Close()
}

// guard makes the lock and the socket anew if somebody has removed them, and notes again what may have gone with them: what is held, and the
// policy in force, without which a bad one would stop the hook's starts. The
// error is that another keeper has the folder by now: this one has to end, and leaves it what there is.
func (k *Keeper) guard(ctx context.Context) error {
	if k.locked() && isFile(filepath.Join(k.opt.Run, Socket), k.socket) {
		return nil
	}
	err := k.reclaim(ctx)
	switch {
	case errors.Is(err, ErrRunning):
		return fmt.Errorf("the lock of this keeper was removed, and it ends: %w", err)
	case err != nil:
		// It is tried again at the next look.
		if k.unclaimed != err.Error() {
			k.logf("the lock or the socket in %s was removed, and can't be made anew: %v", k.opt.Run, err)
		}
		k.unclaimed = err.Error()
		return nil
	}
	k.unclaimed = ""
	k.logf("the lock or the socket in %s was removed; both are there again", k.opt.Run)
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

// reclaim locks the folder and listens there again.
func (k *Keeper) reclaim(ctx context.Context) error {
	// It makes the folders.
	if _, err := newStore(filepath.Join(k.opt.Run, "held"), k.holder.FS.Proc); err != nil {
		return err
	}
	if !k.locked() {
		f, err := lock(k.lockPath())
		if err != nil {
			return err
		}
		k.lock.Close()
		k.lock = f
	}
	k.hush()
	return k.listen(ctx)
}
