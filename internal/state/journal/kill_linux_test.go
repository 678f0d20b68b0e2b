package journal

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/testkit/killtest"
)

func init() { killtest.Life("owner", live) }

// undoThing removes a thing, which is a file.
func undoThing(_ context.Context, e Entry) ([]string, error) {
	var path string
	if err := json.Unmarshal(e.Payload, &path); err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return []string{e.ID}, nil
}

// live is a life of an owner with each kind of write: it sweeps a thing, fails to sweep one, adopts another, makes two, changes the record of one, and removes it. It
// prints which things are recorded from then on, with a plus, and which may be gone, with a minus.
func live(dir string) error {
	ctx := context.Background()
	j := In(dir)
	thing := func(id string) string { return filepath.Join(dir, "things", id) }
	say := func(words string) { os.Stdout.WriteString(words + "\n") }
	say("-swept")
	if _, err := j.Sweep(ctx, map[string]Undo{"swept": undoThing}); err != nil {
		return err
	}
	busy := errors.New("busy")
	if _, err := j.Sweep(ctx, map[string]Undo{"other": func(context.Context, Entry) ([]string, error) { return nil, busy }}); !errors.Is(err, busy) {
		return fmt.Errorf("a sweep whose undo fails: %w", err)
	}
	if _, err := j.adopt(ctx, "thing", "adopted"); err != nil {
		return err
	}
	for _, id := range []string{"a", "b"} {
		if err := j.Put(ctx, "thing", id, thing(id)); err != nil {
			return err
		}
		say("+" + id)
		if err := os.WriteFile(thing(id), nil, 0o600); err != nil {
			return err
		}
	}
	if err := j.Put(ctx, "thing", "a", thing("a")); err != nil {
		return err
	}
	for _, id := range []string{"b", "adopted"} {
		say("-" + id)
		if err := os.Remove(thing(id)); err != nil {
			return err
		}
		if err := j.Remove("thing", id); err != nil {
			return err
		}
	}
	return nil
}

// leaveThings makes things of an owner that is dead.
func leaveThings(t *testing.T, dir string) {
	if err := os.Mkdir(filepath.Join(dir, "things"), 0o700); err != nil {
		t.Fatal(err)
	}
	dead := In(dir)
	for kind, id := range map[string]string{"swept": "swept", "other": "busy", "thing": "adopted"} {
		path := filepath.Join(dir, "things", id)
		if err := errors.Join(dead.Put(t.Context(), kind, id, path), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	die(t, dead)
}

// TestKilled: an owner is killed at every single call by which it changes something. The next finds each thing that was made, loses no record, and
// leaves nothing.
func TestKilled(t *testing.T) {
	killed := killtest.Test{
		Name:   "owner",
		Calls:  []string{"openat", "mkdirat", "flock", "write", "sync_file_range", "renameat", "unlinkat"},
		Before: leaveThings,
		After: func(t *testing.T, dir, at, said string) {
			recorded := []string{"adopted", "busy", "swept"}
			var mayBeGone []string
			for line := range strings.Lines(said) {
				switch id := strings.TrimSpace(line[1:]); line[0] {
				case '+':
					recorded = append(recorded, id)
				case '-':
					mayBeGone = append(mayBeGone, id)
				}
			}
			next := In(dir)
			var found []string
			for _, kind := range []string{"swept", "other", "thing"} {
				list, err := next.Entries(kind)
				if err != nil {
					t.Errorf("killed at %s: %v", at, err)
				}
				for _, e := range list {
					found = append(found, e.ID)
					if next.Alive(e) {
						t.Errorf("killed at %s: the owner of %s passes for alive", at, e.ID)
					}
				}
			}
			for _, id := range recorded {
				if !slices.Contains(found, id) && !slices.Contains(mayBeGone, id) {
					t.Errorf("killed at %s, after %q: the record of %s is lost", at, said, id)
				}
			}
			for range 2 { // The second has nothing to do.
				if _, err := next.Sweep(t.Context(), map[string]Undo{"swept": undoThing, "other": undoThing, "thing": undoThing}); err != nil {
					t.Errorf("killed at %s: %v", at, err)
				}
			}
			if left := files(t, dir); !slices.Equal(left, []string{"journal/lock"}) {
				t.Errorf("killed at %s, after %q: left behind: %q", at, said, left)
			}
		},
	}.Run(t)
	if killed < 60 {
		t.Errorf("it was killed %d times, which are too few for what it does", killed)
	}
}

func init() {
	killtest.Life("waits", func(dir string) error {
		if err := In(dir).Put(context.Background(), "thing", "a", filepath.Join(dir, "a")); err != nil {
			return err
		}
		os.Stdout.WriteString("recorded\n")
		time.Sleep(time.Minute)
		return nil
	})
}

// TestOtherNamespace: it can be found out whether an owner in another PID namespace lives, where its number means another process.
func TestOtherNamespace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root for a PID namespace")
	}
	dir := t.TempDir()
	c := killtest.Command("waits", dir)
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "recorded\n" {
		t.Fatalf("%q, %v", line, err)
	}
	sweep := func() []string {
		removed, err := In(dir).Sweep(t.Context(), map[string]Undo{"thing": undoThing})
		if err != nil {
			t.Error(err)
		}
		return removed
	}
	if removed := sweep(); len(removed) > 0 {
		t.Errorf("Sweep() removed %q of a living owner", removed)
	}
	c.Process.Kill()
	c.Wait()
	if removed := sweep(); !slices.Equal(removed, []string{"a"}) {
		t.Errorf("Sweep() removed %q of a dead owner, want its thing", removed)
	}
}

// TestLockBesideASweep: a sweep leaves an owner's new lock file, and so the owner keeps its first entry when it makes a second one. A sweep that
// locked the file first made the first entry that of a process which still runs.
func TestLockBesideASweep(t *testing.T) {
	dir := t.TempDir()
	j, other := In(dir), In(dir)
	stop, swept := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				swept <- nil
				return
			default:
			}
			if err := other.dropLocks(context.Background()); err != nil {
				swept <- err
				return
			}
		}
	}()
	for range 500 {
		put := func(id string) error { return j.Put(t.Context(), "thing", id, nil) }
		if err := errors.Join(put("a"), put("b"), put("a"), j.Remove("thing", "a"), j.Remove("thing", "b")); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	if err := <-swept; err != nil {
		t.Error(err)
	}
	if left, err := j.Entries("thing"); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestNewLock: a sweep waits for an owner that has made its lock file and not locked it yet.
func TestNewLock(t *testing.T) {
	dir := t.TempDir()
	j := Open(dir)
	fresh := filepath.Join(dir, "1"+ownerSuffix)
	err := j.change(t.Context(), func() error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := os.WriteFile(fresh, nil, 0o600); err != nil {
			return err
		}
		if _, err := Open(dir).Sweep(ctx, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("Sweep() beside a change = %v, want that it waited", err)
		}
		return nil
	})
	if left := files(t, dir); err != nil || !slices.Equal(left, []string{"1.owner", "lock"}) {
		t.Errorf("left beside a change: %q, %v", left, err)
	}
	if _, err := j.Sweep(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if left := files(t, dir); !slices.Equal(left, []string{"lock"}) {
		t.Errorf("left of a dead owner: %q", left)
	}
}

func init() { killtest.Life("keeps", keeps) }

// keeps is a life that records things which are to outlive it.
func keeps(dir string) error {
	ctx := context.Background()
	j := In(dir)
	say := func(words string) { os.Stdout.WriteString(words + "\n") }
	if err := j.Keep(ctx, "thing", "a", 1); err != nil {
		return err
	}
	say("+a")
	if err := j.Keep(ctx, "thing", "a", 2); err != nil {
		return err
	}
	if err := j.Put(ctx, "thing", "made", 1); err != nil {
		return err
	}
	if err := j.Keep(ctx, "thing", "made", 2); err != nil {
		return err
	}
	say("+made")
	say("-a")
	return j.Discard(ctx, "thing", "a")
}

// TestKeptKilled: whenever the maker of what is to stay is killed, its record is there, and a sweep leaves it and nothing else.
func TestKeptKilled(t *testing.T) {
	killed := killtest.Test{
		Name:  "keeps",
		Calls: []string{"openat", "mkdirat", "flock", "write", "sync_file_range", "renameat", "unlinkat"},
		After: func(t *testing.T, dir, at, said string) {
			next := In(dir)
			if _, err := next.Sweep(t.Context(), map[string]Undo{"thing": func(context.Context, Entry) ([]string, error) { return nil, nil }}); err != nil {
				t.Errorf("killed at %s: %v", at, err)
			}
			for _, id := range []string{"a", "made"} {
				e, err := next.Get("thing", id)
				switch {
				case err == nil && !e.Kept():
					t.Errorf("killed at %s, after %q: %+v outlives the sweep", at, said, e)
				case err != nil && (!errors.Is(err, os.ErrNotExist) || strings.Contains(said, "+"+id) && !strings.Contains(said, "-"+id)):
					t.Errorf("killed at %s, after %q: %s: %v", at, said, id, err)
				}
			}
			for _, f := range files(t, dir) {
				if !slices.Contains([]string{"journal/lock", "journal/thing/a.json", "journal/thing/made.json"}, f) {
					t.Errorf("killed at %s, after %q: left behind: %s", at, said, f)
				}
			}
		},
	}.Run(t)
	if killed < 40 {
		t.Errorf("it was killed %d times, which are too few for what it does", killed)
	}
}
