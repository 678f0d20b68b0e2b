package journal

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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

// live is a life of an owner with each kind of write: it sweeps a thing, adopts another, makes two, changes the record of one, and removes it. It
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
	if _, err := j.Adopt(ctx, "thing", "adopted"); err != nil {
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

// leaveTwo makes two things of an owner that is dead.
func leaveTwo(t *testing.T, dir string) {
	if err := os.Mkdir(filepath.Join(dir, "things"), 0o700); err != nil {
		t.Fatal(err)
	}
	dead := In(dir)
	for kind, id := range map[string]string{"swept": "swept", "thing": "adopted"} {
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
		Calls:  []string{"openat", "mkdirat", "flock", "write", "fsync", "renameat", "unlinkat"},
		Before: leaveTwo,
		After: func(t *testing.T, dir, at, said string) {
			recorded := []string{"adopted", "swept"}
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
			for _, kind := range []string{"swept", "thing"} {
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
				if _, err := next.Sweep(t.Context(), map[string]Undo{"swept": undoThing, "thing": undoThing}); err != nil {
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
