package keeper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit/policy"
)

// A Done is what Once did.
type Done struct {
	// Rules are those that match, Held what is held now, and Faults what can't be kept.
	Rules  []string
	Held   []Held
	Faults []Fault
	// Notes are sentences to be told.
	Notes []string
	// Unnoted is why what is held could not be noted for the keeper, nil if it is noted.
	Unnoted error
	// Stale says that the policy isn't the one in force, why, and which is; nil if it is.
	Stale error
}

// Once holds one target to the policy, as a keeper would that meets it, and notes that for the keeper of the folder Run. It is
// for hooks: no lock is taken, and the root group is left to the keeper. A policy with faults is replaced by the one that the keeper
// found good last, where there is one. What can't be noted is not held, unless opt.Unnoted is set.
func Once(opt Options, t target.Target) (Done, error) {
	var out Done
	p, err := lastGood(opt, &out)
	if err != nil || len(p.Of(t)) == 0 {
		return out, err
	}
	opt.Log = func(line string) { out.Notes = append(out.Notes, line) }
	k := &Keeper{opt: opt, holder: opt.Holder, wides: map[string][]Grant{}, shares: map[string][]Grant{}, loaded: loadedPolicy{policy: p}, closed: true}
	if opt.Unnoted {
		k.store = laxStore(opt.Run, opt.Holder.FS.Proc)
	} else if k.store, err = newStore(opt.Run, opt.Holder.FS.Proc); err != nil {
		return out, err
	}
	e := &entry{key: keyOf(t), id: t.ID, process: t, target: t, since: time.Now()}
	unlock, err := k.store.lock(e)
	if err != nil {
		return out, err
	}
	defer unlock()
	k.recall(e)
	if err := k.find(e); err != nil {
		return out, err
	}
	if _, err := k.settle(e); err != nil {
		return out, err
	}
	out.Rules, out.Faults, out.Unnoted = e.rules, e.broken, k.store.unnoted
	for _, h := range e.slots() {
		out.Held = append(out.Held, *h)
	}
	if len(k.wides) > 0 {
		out.Notes = append(out.Notes, "device-wide limits are left to plimsoll daemon")
	}
	if len(k.shares) > 0 {
		out.Notes = append(out.Notes, "shared budgets are left to plimsoll daemon")
	}
	return out, nil
}

// lastGood reads the policy, or the copy of the one that was good last.
func lastGood(opt Options, out *Done) (*policy.Policy, error) {
	p, _, err := Load(opt.Policy)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	good := filepath.Join(opt.Run, LastGood)
	old, _, goodErr := Load(good)
	if goodErr != nil {
		return nil, err
	}
	out.Stale = fmt.Errorf("%w; the policy that was good last is in force: %s%s", err, good, since(opt.Run, good))
	out.Notes = append(out.Notes, out.Stale.Error())
	return old, nil
}

// since says from when a copy of the policy is where no keeper runs that it could be in force for.
func since(run, good string) string {
	info, err := os.Stat(good)
	if err != nil || Runs(run) {
		return ""
	}
	return fmt.Sprintf(", of %s, by a daemon that has ended", info.ModTime().Format(time.RFC3339))
}
