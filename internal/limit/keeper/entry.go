package keeper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/hold"
)

// A Held is a limit that the keeper has set.
type Held struct {
	Grant
	// Since is when it was set first.
	Since time.Time `json:"since"`
	// Was is what was there before, in a policy's words; it is put back when no rule gives the limit
	// any more.
	Was string `json:"was"`
	// Drift is how often it was found changed, and put back.
	Drift int `json:"drift"`

	was limit.Limits
	// identity says which disk it was set on, "" where that can't be told.
	identity string
	// prior is what the keeper held before, until the kernel has the limits of now; nil for none.
	prior *limit.Limits
	// unmet is set for what was noted, until it is known whether the kernel has it still: see meet.
	unmet bool
}

// An entry is a target that the keeper limits: a container, the root group, or a group that containers share.
type entry struct {
	// key and id are its names, empty for the root group, and process is the target as it was met. They don't change.
	key, id string
	// budget is set for a group that containers have in common.
	budget  bool
	process target.Target

	// seen is what is told of it while it is locked.
	seen atomic.Pointer[view]
	// told is set while a look is due because something was written. Who sets it has toldAt, when it was set last, and row, how often
	// that was soon after the time before.
	told   atomic.Bool
	toldAt time.Time
	row    int

	mu     sync.Mutex
	target target.Target
	// recalled is set when what was noted of it was read.
	recalled bool
	// unknown says that it could not be read, and why, until rules hold the entry anew.
	unknown string
	groups  *cgroup.Target
	rules   []string
	// unlimited says of the data that the rules are for which has no limit, and why.
	unlimited []string
	// escapes are what of it gets past limits on writes, unless the root group holds that.
	escapes []hold.Escape
	// settled is when its rules were asked last, and wrote when its limits were changed last, by rules or since another program had changed them.
	settled, wrote time.Time
	// parts are what is held, and checked.
	parts []part
	held  map[Slot]*Held
	// broken are rules that can't be kept.
	broken []Fault
	// gone is set when it has ended.
	gone bool
	// since is when the keeper met it.
	since time.Time
	// drift counts how often a limit was found changed, and lastDrift is when and what.
	drift     int
	lastDrift time.Time
	drifted   string
	// logged is what the log was told of that.
	logged string
	// fight is how long the next correction of what somebody changes again and again has to wait.
	fight time.Duration
	// notBefore is when it may be corrected again, retry when what is broken is tried again.
	notBefore, retry time.Time
	retryWait        time.Duration
}

// name is how logs call it.
func (e *entry) name() string {
	if e.key == "" {
		return "the root group"
	}
	if e.budget {
		return "the group " + e.target.Name
	}
	return e.target.Ref()
}

// hold applies grants to an entry: it removes limits that no rule grants any more, writes those that differ, and returns
// the number of writes. Refused limits are added to broken as faults.
func (k *Keeper) hold(e *entry, grants []Grant) (writes int, err error) {
	met, err := k.meet(e, func(s Slot) bool { return given(grants, s) })
	if err != nil {
		return 0, err
	}
	return k.holdMet(e, grants, met)
}

// given reports whether the rules give the slot a value: one of the grants is for it.
func given(grants []Grant, s Slot) bool {
	return slices.ContainsFunc(grants, func(g Grant) bool { return g.Slot == s })
}

// holdMet applies grants to an entry that was met already (its notes were compared with the kernel's values); met lists the
// slots that other programs changed.
func (k *Keeper) holdMet(e *entry, grants []Grant, met []Slot) (writes int, err error) {
	if k.plans {
		return 0, k.plan(e, grants)
	}
	now := time.Now()
	n, err := k.release(e, func(s Slot) bool { return !given(grants, s) })
	writes += n
	if err != nil {
		return writes, err
	}
	ps := parts(grants)
	fresh := slices.ContainsFunc(grants, func(g Grant) bool { return e.held[g.Slot] == nil || k.fateOf(e.held[g.Slot]) == replaced })
	var before []cgroup.State
	// others are the limits of disks that have made way for others: what those have, nobody has changed.
	others := map[Slot]bool{}
	for s, h := range e.held {
		others[s] = k.fateOf(h) == replaced
	}
	if fresh {
		if before, err = k.holder.Groups.Read(e.groups); err != nil {
			return writes, err
		}
		k.renew(e, before)
	}
	// What is about to be held is noted first: a keeper that is killed in between knows what to take away.
	old, renoted := maps.Clone(e.held), false
	for _, g := range grants {
		h := &Held{Grant: g, Since: now}
		if o := old[g.Slot]; o != nil {
			h.Since, h.Was, h.was, h.Drift, h.identity, h.prior = o.Since, o.Was, o.was, o.Drift, o.identity, o.prior
			if o.limits != g.limits {
				h.prior, renoted = &o.limits, true
			}
		} else {
			h.was = wasLimit(before, g.Slot)
			h.Was = h.was.Text(g.Key)
		}
		if h.identity == "" {
			h.identity = k.identityOf(g.Slot)
		}
		e.held[g.Slot] = h
	}
	if err := k.store.save(e); err != nil {
		e.held = old // Nothing was written.
		return writes, err
	}
	e.parts = nil
	var changed []cgroup.Edit
	for _, p := range ps {
		n, edits, err := k.write(e, p)
		writes += n
		if errors.Is(err, cgroup.ErrGone) {
			return writes, err
		}
		if err == nil {
			e.parts = append(e.parts, p)
			// What was held, is to be the same and differed all the same, somebody has changed.
			changed = append(changed, slices.DeleteFunc(edits, func(x cgroup.Edit) bool {
				return !slices.ContainsFunc(p.slots, func(s Slot) bool {
					return s.of(x) && (slices.Contains(met, s) || old[s] != nil && e.held[s].prior == nil && !others[s])
				})
			})...)
			for _, s := range p.slots {
				e.held[s].prior = nil
			}
			continue
		}
		e.broken = append(e.broken, Fault{Rule: p.rule, Text: err.Error(), Err: err})
		var fault *cgroup.Fault
		if errors.As(err, &fault) && len(fault.Left) > 0 {
			// The kernel has some of it: it is noted, so that it can be taken away.
			continue
		}
		for _, s := range p.slots {
			// What was there before was put back.
			if old[s] != nil {
				e.held[s] = old[s]
			} else {
				delete(e.held, s)
			}
		}
	}
	if last, n := e.lastDrift, e.drift; len(changed) > 0 {
		if e.drifts(changed); e.drift > n {
			k.drifted(e, last)
		}
	}
	if len(e.parts) > 0 {
		e.unknown = ""
	}
	if renoted || len(ps) > len(e.parts) {
		err = k.store.save(e)
	}
	return writes, err
}

// write writes what one rule gives, all of it or nothing, and returns how many writes that took, and what had differed.
func (k *Keeper) write(e *entry, p part) (writes int, edits []cgroup.Edit, err error) {
	plans, edits, err := k.differs(e, p)
	if err != nil || len(plans) == 0 {
		return 0, nil, err
	}
	writes, err = k.put(e, p, plans)
	return writes, edits, err
}

// differs plans what has to be written for what one rule gives: edits is all of that, none if all is so already.
func (k *Keeper) differs(e *entry, p part) (plans []*cgroup.Diff, edits []cgroup.Edit, err error) {
	for _, w := range p.wants {
		d, err := k.holder.Groups.Plan(e.groups, w)
		if err != nil {
			return nil, nil, err
		}
		if d.Empty() {
			continue
		}
		edits = append(edits, d.Edits...)
		plans = append(plans, d)
	}
	return plans, edits, nil
}

// putBack writes once what a part had before, all of it or nothing. Unlike put it doesn't look again: another program's value that is
// there by then is newer, and stays.
func (k *Keeper) putBack(e *entry, p part) (writes int, err error) {
	plans, _, err := k.differs(e, p)
	if err != nil {
		return 0, err
	}
	return k.putPlans(k.holder.Groups.Begin(), plans)
}

// putPlans writes what was planned, all of it or nothing.
func (k *Keeper) putPlans(x *cgroup.Transaction, plans []*cgroup.Diff) (writes int, err error) {
	for _, d := range plans {
		n, err := x.Apply(d)
		writes += n
		if err != nil {
			return writes, x.Undo(context.Background(), err)
		}
	}
	return writes, nil
}

// put writes what was planned for what one rule gives, all of it or nothing.
func (k *Keeper) put(e *entry, p part, plans []*cgroup.Diff) (writes int, err error) {
	x := k.holder.Groups.Begin()
	if writes, err = k.putPlans(x, plans); err != nil {
		return writes, err
	}
	// A container may make groups meanwhile.
	for _, w := range p.wants {
		n, err := x.Hold(e.groups, w)
		writes += n
		if errors.Is(err, cgroup.ErrUnsettled) {
			// Undone, it would be rid of its limits. What it makes brings about the next look, which goes on.
			continue
		}
		if err != nil {
			return writes, x.Undo(context.Background(), err)
		}
	}
	return writes, nil
}

// release takes away what is held and lost says, and puts back what was there before.
func (k *Keeper) release(e *entry, lost func(Slot) bool) (writes int, err error) {
	var away []Slot
	var back []Grant
	states := sync.OnceValues(func() ([]cgroup.State, error) { return k.holder.Groups.Read(e.groups) })
	for s, h := range e.held {
		if !lost(s) {
			continue
		}
		away = append(away, s)
		was, ok, err := k.back(e, h, states)
		if err != nil && !errors.Is(err, cgroup.ErrGone) {
			return 0, fmt.Errorf("take away limits: %w", err)
		}
		if ok {
			back = append(back, Grant{Slot: s, Rule: "before", limits: was})
		}
	}
	if len(away) == 0 {
		return 0, nil
	}
	for _, p := range parts(back) {
		n, err := k.putBack(e, p)
		writes += n
		if err != nil && !errors.Is(err, cgroup.ErrGone) {
			return writes, fmt.Errorf("take away limits: %w", err)
		}
	}
	for _, s := range away {
		delete(e.held, s)
	}
	err = k.store.save(e)
	if err == nil && e == k.root {
		err = k.giveUpDevices()
	}
	return writes, err
}

// check looks whether all is as it was written, and writes what isn't. Without drift it writes nothing. What fails of one rule doesn't keep it
// from the others, and is returned in faults. The error wraps cgroup.ErrGone or errReplaced: nothing of it is to be kept as it is.
func (k *Keeper) check(e *entry) (writes int, faults []Fault, err error) {
	for i := range e.parts {
		p := &e.parts[i]
		plans, edits, err := k.differs(e, *p)
		n := 0
		// Asked where something is to be written alone, so that a look without drift costs no more.
		if (err != nil || len(edits) > 0) && k.moved(e, p) {
			return writes, faults, errReplaced
		}
		if len(edits) > 0 {
			n, err = k.put(e, *p, plans)
			writes += n
		}
		switch {
		case errors.Is(err, cgroup.ErrGone):
			return writes, faults, err
		case err != nil:
			faults = append(faults, Fault{Rule: p.rule, Text: err.Error(), Err: err})
		default:
			e.drifts(edits)
		}
	}
	return writes, faults, nil
}

// wasLimit is what a target had in a slot before.
func wasLimit(states []cgroup.State, s Slot) limit.Limits {
	if len(states) == 0 {
		return limit.Limits{}
	}
	d, ok := number(s.Device)
	l := states[0].Limits
	if ok {
		l = states[0].Devices[d]
	}
	return limit.Limits{}.With(s.Key, l)
}

// on reports whether something is held on one of the devices.
func (e *entry) on(numbers map[string]bool) bool {
	for s := range e.held {
		if s.Device != "" && numbers[s.Device] {
			return true
		}
	}
	return false
}

// slots lists what is held, in order.
func (e *entry) slots() []*Held {
	list := slices.Collect(maps.Values(e.held))
	slices.SortFunc(list, func(a, b *Held) int { return compareSlots(a.Slot, b.Slot) })
	return list
}
