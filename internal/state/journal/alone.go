package journal

import (
	"context"
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

// Patience is how long Alone lets one process change things of a kind before another process gives up. It is longer
// than any change: one that asks systemd and a container's engine needs, with its undo, fewer than ten answers of up
// to half a minute each.
const Patience = 5 * time.Minute

// silence is how long a call waits for another process before it says so.
const silence = 2 * time.Second

// waitingKey is the key of a context's function that reports for whom a call waits.
type waitingKey struct{}

// OnWait returns a context for calls that may wait for other processes. After 2 seconds such a call reports the process
// that it waits for, and reports again if that changes: "process 12, which has FILE". A stopped process may hold it up
// for minutes.
func OnWait(ctx context.Context, tell func(whom string)) context.Context {
	return context.WithValue(ctx, waitingKey{}, tell)
}

// tellWait tells for whom a call with this context waits.
func tellWait(ctx context.Context, whom string) {
	if tell, ok := ctx.Value(waitingKey{}).(func(string)); ok {
		tell(whom)
	}
}

// Alone calls f while no other process is in Alone with that kind: for changes of several steps. It waits for another
// process until ctx ends.
func (j *Journal) Alone(ctx context.Context, kind string, f func() error) error {
	lock, err := j.take(ctx, filepath.Join(j.dir, kind+".lock"), func(path string) (*os.File, error) {
		lock, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := filelock.Alone(lock); err != nil {
			lock.Close()
			return nil, err
		}
		return lock, nil
	})
	if err != nil {
		return err
	}
	defer lock.Close() // Closing nil is an error that doesn't matter.
	return f()
}

// AloneWith is Alone for the thing of one entry. Its lock file goes with the call: there may be thousands of entries.
func (j *Journal) AloneWith(ctx context.Context, kind, id string, f func() error) error {
	lock, err := j.take(ctx, strings.TrimSuffix(j.Path(kind, id), ".json")+".lock", func(path string) (*os.File, error) {
		return filelock.Take(path, 0o600)
	})
	if err != nil {
		return err
	}
	if lock != nil {
		defer filelock.Remove(lock)
	}
	return f()
}

// take waits for the lock file at a path. The file is nil for a journal that records nothing.
func (j *Journal) take(ctx context.Context, path string, try func(path string) (*os.File, error)) (*os.File, error) {
	if j.dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, j.unwritten(err)
	}
	var whose string
	var since time.Time
	for told := false; ; {
		lock, err := try(path)
		if err == nil {
			sign(lock)
			return lock, nil
		}
		if _, opening := errors.AsType[*fs.PathError](err); opening {
			return nil, j.unwritten(err)
		}
		if !errors.Is(err, filelock.ErrLocked) {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if now := lockedBy(path); now != whose || since.IsZero() {
			whose, since, told = now, time.Now(), false
		}
		if !told && time.Since(since) > silence {
			told = true
			tellWait(ctx, whose+", which has "+path)
		}
		if time.Since(since) > Patience {
			return nil, fmt.Errorf("%s: %w: %s has held the lock for more than %v", path, err, whose, Patience)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for %s, which has %s: %w", whose, path, context.Cause(ctx))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// sign writes this process's id into a lock file. It is only for messages, so an error doesn't matter.
func sign(lock *os.File) {
	if lock.Truncate(0) == nil {
		_, _ = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
}

// lockedBy names the process that has a lock.
func lockedBy(lock string) string {
	b, err := controlfile.Read(lock, 64)
	pid, bad := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || bad != nil {
		return "another process"
	}
	return fmt.Sprintf("process %d", pid)
}

// unwritten adds advice to the error of a folder that can't be written.
func (j *Journal) unwritten(err error) error {
	return fmt.Errorf("%w; see that there is room in %s, and that it can be written", err, filepath.Dir(j.dir))
}
