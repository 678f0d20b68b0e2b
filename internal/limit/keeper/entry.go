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
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/hold"
)

// A Limit is a limit that the keeper has set.
type Limit struct {
	Grant
	// Since is when the keeper first set it.
	Since time.Time `json:"since"`
	// Was is the value before, in a policy's words. It is restored when no rule sets the limit any more.
	Was string `json:"was"`
	// Drift is how often the keeper found it changed, and restored it.
	Drift int `json:"drift"`

	was limit.Limits
	// identity is the disk that has the limit, "" where that isn't known.
	identity string
	// prior is the keeper's earlier value, until the kernel has the present one; nil for none.
	prior *limit.Limits
	// unverified is set for a recorded limit until it is known whether the kernel still has it: see reconcile.
	unverified bool
}

// An entry is a target of the keeper: a container, the root group, or a group that containers share.
type entry struct {
	// key and id are its names, empty for the root group, and process is its first process as found. They don't
	// change.
	key, id string
	// budget is set for a group that containers share.
	budget  bool
	process target.Target

	// seen is its state for readers while it is locked.
	seen atomic.Pointer[view]
	// told is set while a look is due after a notification. toldAt is the time of the last notification, and row
	// counts notifications in quick succession; both belong to the goroutine that sets told.
	told   atomic.Bool
	toldAt time.Time
	row    int

	mu     sync.Mutex
	target target.Target
	// recalled is set once its record has been read.
	recalled bool
	// unknown is why its record could not be read, until rules limit the entry again.
	unknown string
	groups  *cgroup.Target
	rules   []string
	// unlimited describes data that rules select and that has no limit, with the reason.
	unlimited []string
	// escapes are the writes that get past its limits, unless the root group holds them.
	escapes []hold.Escape
	// settled is when its rules were last evaluated, and wrote when its limits were last changed, by rules or to
	// restore them.
	settled, wrote time.Time
	// parts are the limits that are set and checked.
	parts []part
	held  map[Slot]*Limit
	// broken are the rules that can't be applied.
	broken []Fault
	// gone is set when it has ended.
	gone bool
	// since is when the keeper found it.
	since time.Time
	// drift counts how often a limit was found changed; lastDrift and drifted are when last, and what.
	drift     int
	lastDrift time.Time
	drifted   string
	// logged is the last such text in the log.
	logged string
	// fight is the wait before the next correction, if another program changes a limit again and again.
	fight time.Duration
	// notBefore is the earliest time of the next correction, retry the time when broken rules are tried again.
	notBefore, retry time.Time
	retryWait        time.Duration
}

// name is its name in logs.
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
	overwritten, err := k.reconcile(e, func(s Slot) bool { return granted(grants, s) })
	if err != nil {
		return 0, err
	}
	return k.reapply(e, grants, overwritten)
}

// granted reports whether a grant is for the slot.
func granted(grants []Grant, s Slot) bool {
	return slices.ContainsFunc(grants, func(g Grant) bool { return g.Slot == s })
}

// reapply is hold for an entry whose records have been compared with the kernel's values (reconcile); overwritten lists
// the slots that other programs changed. New limits are recorded before they are set, so that the next keeper can remove
// them if this one is killed in between.
func (k *Keeper) reapply(e *entry, grants []Grant, overwritten []Slot) (writes int, err error) {
	if k.plans {
		return 0, k.plan(e, grants)
	}
	writes, err = k.release(e, func(s Slot) bool { return !granted(grants, s) })
	if err != nil {
		return writes, err
	}
	// A limit on a disk that has replaced another was changed by no program.
	newDisk := map[Slot]bool{}
	for s, h := range e.held {
		newDisk[s] = k.fateOf(h) == replaced
	}
	before, err := k.before(e, grants)
	if err != nil {
		return writes, err
	}
	old := maps.Clone(e.held)
	other := k.take(e, grants, before)
	if err := k.store.save(e); err != nil {
		e.held = old // No limit was written.
		return writes, err
	}
	e.parts = nil
	var changed []cgroup.Edit
	for _, p := range parts(grants) {
		n, edits, err := k.write(e, p)
		writes += n
		if errors.Is(err, cgroup.ErrGone) {
			return writes, err
		}
		if err != nil {
			e.broken, other = append(e.broken, Fault{Rule: p.rule, Text: err.Error(), Err: err}), true
			e.keepOld(p, old, err)
			continue
		}
		// A limit that is to stay the same and differed was changed by another program.
		changed = append(changed, slices.DeleteFunc(edits, func(x cgroup.Edit) bool {
			return !slices.ContainsFunc(p.slots, func(s Slot) bool {
				return s.of(x) && (slices.Contains(overwritten, s) || old[s] != nil && e.held[s].prior == nil && !newDisk[s])
			})
		})...)
		for _, s := range p.slots {
			e.held[s].prior = nil
		}
		e.parts, e.unknown = append(e.parts, p), ""
	}
	if last, n := e.lastDrift, e.drift; len(changed) > 0 {
		if e.drifts(changed); e.drift > n {
			k.drifted(e, last)
		}
	}
	if other {
		err = k.store.save(e)
	}
	return writes, err
}

// before reads what an entry's groups have, if some grants are for new slots. Limits on disks that have replaced others
// become those of the present disks.
func (k *Keeper) before(e *entry, grants []Grant) (states []cgroup.State, err error) {
	if !slices.ContainsFunc(grants, func(g Grant) bool { return e.held[g.Slot] == nil || k.fateOf(e.held[g.Slot]) == replaced }) {
		return nil, nil
	}
	if states, err = k.holder.Groups.Read(e.groups); err == nil {
		k.renew(e, states)
	}
	return states, err
}

// take makes grants the entry's limits, before they are written. before is what its groups have. It reports whether the
// value of a limit is another than before; the kernel has the earlier one until this is written.
func (k *Keeper) take(e *entry, grants []Grant, before []cgroup.State) (changed bool) {
	now := time.Now()
	for _, g := range grants {
		h := &Limit{Grant: g, Since: now}
		if o := e.held[g.Slot]; o != nil {
			h.Since, h.Was, h.was, h.Drift, h.identity, h.prior = o.Since, o.Was, o.was, o.Drift, o.identity, o.prior
			if o.limits != g.limits {
				h.prior, changed = &o.limits, true
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
	return changed
}

// keepOld restores the entry's old limits of a part that could not be written, unless the kernel has some of the new ones:
// their record stays, so that they can be removed.
func (e *entry) keepOld(p part, old map[Slot]*Limit, err error) {
	if cgroup.NotPutBack(err) {
		return
	}
	for _, s := range p.slots {
		if old[s] != nil {
			e.held[s] = old[s]
		} else {
			delete(e.held, s)
		}
	}
}

// write writes one rule's limits, all or none. It returns the number of writes, and the differences found.
func (k *Keeper) write(e *entry, p part) (writes int, edits []cgroup.Edit, err error) {
	plans, err := k.differs(e, p)
	for _, d := range plans {
		edits = append(edits, d.Edits...)
	}
	if err == nil && len(plans) > 0 {
		writes, err = k.put(e, p)
	}
	return writes, edits, err
}

// differs plans the writes for one rule's limits: none if all limits are set already.
func (k *Keeper) differs(e *entry, p part) (plans []*cgroup.Diff, err error) {
	for _, w := range p.wants {
		d, err := k.holder.Groups.Plan(e.groups, w)
		if err != nil {
			return nil, err
		}
		if !d.Empty() {
			plans = append(plans, d)
		}
	}
	return plans, nil
}

// put writes one rule's limits, all or nothing, also to groups that the container creates meanwhile.
func (k *Keeper) put(e *entry, p part) (writes int, err error) {
	x := k.holder.Groups.Begin()
	for _, w := range p.wants {
		n, err := x.Hold(e.groups, w)
		writes += n
		// Undoing unsettled groups would remove their limits. The new group causes another look, which completes the write.
		if err != nil && !errors.Is(err, cgroup.ErrUnsettled) {
			return writes, x.Undo(context.Background(), err)
		}
	}
	return writes, nil
}

// putBack restores once what a part had before, all or nothing. Unlike put it doesn't check again: a value that
// another program has written by then is newer, and stays.
func (k *Keeper) putBack(e *entry, p part) (writes int, err error) {
	plans, err := k.differs(e, p)
	x := k.holder.Groups.Begin()
	for _, d := range plans {
		n, err := x.Apply(d)
		writes += n
		if err != nil {
			return writes, x.Undo(context.Background(), err)
		}
	}
	return writes, err
}

// release removes the limits for which lost is true, and restores the values before them.
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
	return writes, k.store.save(e)
}

// check compares an entry's limits with the kernel's, and writes those that differ. Without drift it writes nothing.
// A failed rule doesn't affect the others; its error is in faults. The error wraps cgroup.ErrGone or errReplaced if
// the whole entry has to be evaluated again.
func (k *Keeper) check(e *entry) (writes int, faults []Fault, err error) {
	for i := range e.parts {
		p := &e.parts[i]
		plans, err := k.differs(e, *p)
		// Asked only before a write, so that a check without drift costs no more.
		if (err != nil || len(plans) > 0) && k.moved(e, p) {
			return writes, faults, errReplaced
		}
		var edits []cgroup.Edit
		if len(plans) > 0 {
			var n int
			n, edits, err = k.write(e, *p)
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

// wasLimit is the value that a target had in a slot.
func wasLimit(states []cgroup.State, s Slot) limit.Limits {
	if len(states) == 0 {
		return limit.Limits{}
	}
	l := states[0].Limits
	if !s.Device.IsZero() {
		l = states[0].Devices[s.Device]
	}
	return limit.Limits{}.With(s.Key, l)
}

// on reports whether the entry has a limit on one of the devices.
func (e *entry) on(numbers map[device.Number]bool) bool {
	for s := range e.held {
		if numbers[s.Device] {
			return true
		}
	}
	return false
}

// has reports whether the entry has a limit of a controller.
func (e *entry) has(c hierarchy.Controller) bool {
	for s := range e.held {
		if controllerOf(s) == c {
			return true
		}
	}
	return false
}

// slots lists the limits in order.
func (e *entry) slots() []*Limit {
	list := slices.Collect(maps.Values(e.held))
	slices.SortFunc(list, func(a, b *Limit) int { return compareSlots(a.Slot, b.Slot) })
	return list
}
