package keeper

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit/policy"
	"plimsoll/internal/testkit/journaltest"
	"plimsoll/internal/testkit/killtest"
)

func init() { killtest.Life("keeper", liveKeeper) }

// A lived is a keeper of a folder without its loop, and the group that it holds: all it does, it does on the test's thread.
type lived struct {
	*Keeper
	e *entry
}

func newLived(dir string) (*lived, error) {
	h, err := holderIn(filepath.Join(dir, "machine"))
	if err != nil {
		return nil, err
	}
	// A control file takes a value whole or not at all, as no plain file does.
	h.Groups = h.Groups.Through(func(path, text string, _ func(string, string) error) error {
		return errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path))
	})
	k, err := New(Options{Holder: h, Policy: filepath.Join(dir, "policy.yaml"), Run: filepath.Join(dir, "run")})
	if err != nil {
		return nil, err
	}
	return &lived{k, k.enter(target.Target{Kind: target.Cgroup, Name: "/shop/web", Running: true})}, nil
}

// hold holds the group to an amount of memory, "" for no rule.
func (l *lived) hold(memory string) error {
	text := "rules: []\n"
	if memory != "" {
		text = "rules:\n- {name: one, match: all, limits: {memory: " + memory + "}}\n"
	}
	p, err := policy.Parse("policy.yaml", []byte(text))
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.loaded.policy = p
	l.mu.Unlock()
	l.e.mu.Lock()
	defer l.e.mu.Unlock()
	l.apply(l.e)
	var errs []error
	for _, f := range l.e.broken {
		errs = append(errs, f.Err)
	}
	return errors.Join(errs...)
}

// liveKeeper is a keeper's life with each kind of write: it takes the folder, sets a limit, changes it, removes it, sets it again, and ends.
func liveKeeper(dir string) error {
	l, err := newLived(dir)
	if err != nil {
		return err
	}
	for _, memory := range []string{"64MiB", "32MiB", "", "16MiB"} {
		if err := l.hold(memory); err != nil {
			return err
		}
	}
	return l.Close()
}

// TestKilled: a keeper is killed at each call by which it changes something. A limit that it has set is recorded, the next keeper begins in the same
// folder, removes the limit as no rule gives it, and nothing is left.
func TestKilled(t *testing.T) {
	t.Parallel()
	killed := killtest.Test{
		Name:  "keeper",
		Kinds: []string{"container-limits", "keeper"},
		Calls: []string{"openat", "mkdirat", "flock", "write", "sync_file_range", "renameat", "unlinkat"},
		Before: func(t *testing.T, dir string) {
			_, root := v2Holder(t, "/shop/web")
			if err := errors.Join(os.Symlink(root, filepath.Join(dir, "machine")), os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte("rules: []\n"), 0o600)); err != nil {
				t.Fatal(err)
			}
		},
		After: func(t *testing.T, dir, at, _ string) {
			memory := func() string {
				b, err := os.ReadFile(filepath.Join(dir, "machine/cg/shop/web/memory.max"))
				if err != nil {
					t.Fatal(err)
				}
				return strings.TrimSpace(string(b))
			}
			run := filepath.Join(dir, "run")
			if Runs(run) {
				t.Errorf("killed at %s: the keeper passes for alive", at)
			}
			next, err := newLived(dir)
			if err != nil {
				t.Fatalf("killed at %s: %v", at, err)
			}
			defer next.holder.Finder.Close()
			held, _, err := next.store.load(next.e)
			if had := memory(); err != nil || had != "max" && len(held) == 0 {
				t.Errorf("killed at %s: the group has %q, and the record %v, %v", at, had, held, err)
			}
			if err := next.hold(""); err != nil {
				t.Errorf("killed at %s: %v", at, err)
			}
			if has := memory(); has != "max" {
				t.Errorf("killed at %s: the group has still %q", at, has)
			}
			next.store.sweep(nil, nil)
			if entries := journaltest.Entries(t, run); !slices.Equal(entries, []string{"keeper/daemon"}) {
				t.Errorf("killed at %s: left recorded: %q", at, entries)
			}
			if err := next.Close(); err != nil {
				t.Error(err)
			}
			if left := journaltest.Left(t, run); len(left) > 0 {
				t.Errorf("killed at %s: left behind: %q", at, left)
			}
			if locks, err := os.ReadDir(filepath.Join(run, "locks")); err != nil || len(locks) > 0 {
				t.Errorf("killed at %s: left locks: %v, %v", at, locks, err)
			}
		},
	}.Run(t)
	if killed < 60 {
		t.Errorf("it was killed %d times, which are too few for what it does", killed)
	}
}
