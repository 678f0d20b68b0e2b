package keeper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/testkit/journaltest"
	"plimsoll/internal/testkit/killtest"
)

func init() { killtest.Life("budget", liveBudget) }

// share holds the group /shop to an amount of memory for all in it, 0 for none.
func (l *lived) share(memory int64) error {
	l.mu.Lock()
	l.addBudget("/shop")
	e := l.budgets["/shop"]
	l.mu.Unlock()
	wanted := map[Slot]Grant{}
	if s := (Slot{Key: limit.Memory, Together: true}); memory > 0 {
		wanted[s] = Grant{Slot: s, Value: fmt.Sprint(memory), Rule: "shop", limits: limit.Limits{Memory: memory}}
	}
	l.applyBudget(e, wanted)
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	for _, f := range e.broken {
		errs = append(errs, f.Err)
	}
	return errors.Join(errs...)
}

// liveBudget is a keeper's life with each kind of write to a group that containers share.
func liveBudget(dir string) error {
	l, err := newLived(dir)
	if err != nil {
		return err
	}
	for _, memory := range []int64{64 << 20, 32 << 20, 0, 16 << 20} {
		if err := l.share(memory); err != nil {
			return err
		}
	}
	return l.Close()
}

// TestKilledBudget: a keeper that limits a group which containers share is killed at each call by which it changes something. The limit is recorded, and
// the next keeper removes it, as no rule gives it. The journal's own test has the calls before each rename.
func TestKilledBudget(t *testing.T) {
	t.Parallel()
	killed := killtest.Test{
		Name:  "budget",
		Kinds: []string{"group-limits"},
		Calls: []string{"renameat", "unlinkat"},
		Before: func(t *testing.T, dir string) {
			_, root := v2Holder(t, "/shop/web")
			if err := errors.Join(os.Symlink(root, filepath.Join(dir, "machine")), os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte("rules: []\n"), 0o600)); err != nil {
				t.Fatal(err)
			}
		},
		After: func(t *testing.T, dir, at, _ string) {
			memory := func() string {
				b, err := os.ReadFile(filepath.Join(dir, "machine/cg/shop/memory.max"))
				if err != nil {
					t.Fatal(err)
				}
				return strings.TrimSpace(string(b))
			}
			next, err := newLived(dir)
			if err != nil {
				t.Fatalf("killed at %s: %v", at, err)
			}
			defer next.holder.Finder.Close()
			if groups, unread := next.store.groups(); len(unread) > 0 || memory() != "max" && len(groups) == 0 {
				t.Errorf("killed at %s: the group has %q, and the records %v, %v", at, memory(), groups, unread)
			}
			next.oldBudgets()
			next.store.sweep(nil, nil)
			if has := memory(); has != "max" {
				t.Errorf("killed at %s: the group has still %q", at, has)
			}
			if err := next.Close(); err != nil {
				t.Error(err)
			}
			if left := journaltest.Left(t, filepath.Join(dir, "run")); len(left) > 0 {
				t.Errorf("killed at %s: left behind: %q", at, left)
			}
		},
	}.Run(t)
	if killed < 12 {
		t.Errorf("it was killed %d times, which are too few for what it does", killed)
	}
}
