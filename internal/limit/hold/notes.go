package hold

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/conf/controlfile"
	"plimsoll/internal/state/filelock"
)

// A notebook is a file in which one process notes what another, later, has to know of what it has changed.
type notebook[T any] struct {
	// file is where it is, "" for nowhere: nothing is noted then, and about what it is on: for an error of one that can't be read.
	file, about string
	// instead says what does what the notes can't tell any more, maybe empty.
	instead string
}

// notesMax is more than notes of all of a machine's devices take.
const notesMax = 16 << 20

// read returns what is noted; nothing where there is no file.
func (n notebook[T]) read() ([]T, error) {
	if n.file == "" {
		return nil, nil
	}
	b, err := controlfile.Read(n.file, notesMax)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []T
	if err = json.Unmarshal(b, &all); err == nil && all == nil {
		err = errors.New("it is not a list")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; the file records %s: check it, then remove it%s", n.file, err, n.about, n.instead)
	}
	return all, nil
}

// write replaces what is noted, whole or not at all. No notes are no file.
func (n notebook[T]) write(all []T) error {
	if n.file == "" {
		return nil
	}
	if len(all) == 0 {
		if err := os.Remove(n.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return n.unwritten(err)
		}
		return nil
	}
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(n.file+".new", b, 0o600); err != nil {
		_ = os.Remove(n.file + ".new") // Half a file takes the room that is missing.
		return n.unwritten(err)
	}
	return os.Rename(n.file+".new", n.file)
}

// unwritten says what a folder is for that can't be written, and what helps.
func (n notebook[T]) unwritten(err error) error {
	return fmt.Errorf("note %s: %w; see that there is room in %s, and that it can be written", n.about, err, filepath.Dir(n.file))
}

// lockWait is how long one process may have the notes before another gives up waiting for it. It has them for a whole change, as what is
// in force in the root group has to be what was noted last: while systemd and the container's engine are told, too, each of whose
// answers may take half a minute. A change and its undo ask for less than ten.
const lockWait = 5 * time.Minute

// locked calls f while no other process has the notebook. It waits for one that does, until ctx ends.
func (n notebook[T]) locked(ctx context.Context, f func() error) error {
	if n.file == "" {
		return f()
	}
	if err := os.MkdirAll(filepath.Dir(n.file), 0o755); err != nil {
		return n.unwritten(err)
	}
	lock, err := os.OpenFile(n.file+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return n.unwritten(err)
	}
	defer lock.Close()
	var whose string
	var end time.Time
	for {
		err := filelock.Alone(lock)
		if err == nil {
			note(lock)
			return f()
		}
		if !errors.Is(err, filelock.ErrLocked) {
			return fmt.Errorf("%s: %w", lock.Name(), err)
		}
		if now := holderOf(lock.Name()); now != whose || end.IsZero() {
			whose, end = now, time.Now().Add(lockWait)
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s: %w: %s has held the lock for more than %v", lock.Name(), err, whose, lockWait)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s, which has %s: %w", whose, lock.Name(), context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// note says in a lock's file which process has it: for whoever waits, so that nothing is lost if it can't be said.
func note(lock *os.File) {
	if lock.Truncate(0) == nil {
		_, _ = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
}

// holderOf names the process that has a lock.
func holderOf(lock string) string {
	b, err := controlfile.Read(lock, 64)
	pid, bad := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || bad != nil {
		return "another process"
	}
	return fmt.Sprintf("process %d", pid)
}
