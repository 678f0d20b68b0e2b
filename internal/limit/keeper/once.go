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
	// Rules are the matching rules, Held the limits now set, and Faults the rules that can't be applied.
	Rules  []string
	Held   []Limit
	Faults []Fault
	// Notes are sentences for the user.
	Notes []string
	// Unnoted is why the limits could not be recorded, nil if they were.
	Unnoted error
	// Stale says that an older policy is in force, why, and which one; nil if the present one is.
	Stale error
}

// Once applies the policy to one target, as a keeper would, and records the limits for the keeper of the folder Run.
// It is for hooks: it takes no keeper's lock, and leaves the root group to the keeper. In place of a policy with
// faults it uses the last good one, if there is a copy. Limits that can't be recorded are not set, unless opt.Unnoted
// is set.
func Once(opt Options, t target.Target) (Done, error) {
	var out Done
	p, err := lastGood(opt, &out)
	if err != nil || len(p.Of(t)) == 0 {
		return out, err
	}
	opt.Log = func(line string) { out.Notes = append(out.Notes, line) }
	k := &Keeper{opt: opt, holder: opt.Holder, deviceWide: map[string][]Grant{}, shares: map[string][]Grant{}, loaded: loadedPolicy{policy: p}, closed: true}
	if opt.Unnoted {
		k.store = laxStore(opt.Run, opt.Holder.FS.Proc)
	} else if k.store, err = newStore(opt.Run, opt.Holder.FS.Proc); err != nil {
		return out, err
	}
	e := &entry{key: keyOf(t), id: t.ID, process: t, target: t, since: time.Now()}
	k.entries = map[string]*entry{e.key: e}
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
	if len(k.deviceWide) > 0 {
		out.Notes = append(out.Notes, "device-wide limits are left to plimsoll daemon")
	}
	if len(k.shares) > 0 {
		out.Notes = append(out.Notes, "shared budgets are left to plimsoll daemon")
	}
	return out, nil
}

// lastGood reads the policy, or the copy of the last good one.
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
	out.Stale = fmt.Errorf("%w; the last good policy is in force: %s%s", err, good, since(opt.Run, good))
	out.Notes = append(out.Notes, out.Stale.Error())
	return old, nil
}

// since says how old the copy of a policy is, where no running keeper has it in force.
func since(run, good string) string {
	info, err := os.Stat(good)
	if err != nil || Runs(run) {
		return ""
	}
	return fmt.Sprintf(", of %s, by a daemon that has ended", info.ModTime().Format(time.RFC3339))
}
