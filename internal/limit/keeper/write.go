package keeper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
)

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
	e.parts, e.stale = nil, false
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

// take makes grants the entry's limits, before they are written. before is what its groups have. It reports whether a
// limit has another value now; the kernel has the earlier value until the new one is written.
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
			// An earlier keeper, whose record can't be read, may have set it. The root group's limits have an owner each.
			if e.unknown != "" && e != k.root && h.was == g.limits {
				h.was, h.Was = limit.Limits{}, unknownWas
				k.logf("%s: %s is as the policy asks, and its record can't be read: the value of %s before is unknown, and without a rule the limit is removed", e.name(), h.at(), g.Key)
			}
		}
		if h.identity == "" {
			h.identity = k.identityOf(g.Slot)
		}
		e.held[g.Slot] = h
	}
	return changed
}

// unknownWas is Limit.Was where the value before is unknown.
const unknownWas = "unknown"

// keepOld restores the entry's old limits of a part that could not be written, unless the kernel has some of the new ones:
// their record stays, so that they can be removed.
func (e *entry) keepOld(p part, old map[Slot]*Limit, err error) {
	if cgroup.NotRestored(err) {
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

// restore restores once what a part had before, all or nothing. Unlike put it doesn't check again: a value that
// another program has written by then is newer, and stays.
func (k *Keeper) restore(e *entry, p part) (writes int, err error) {
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

// release removes the limits for which unwanted is true, and restores the values before them.
func (k *Keeper) release(e *entry, unwanted func(Slot) bool) (writes int, err error) {
	var away []Slot
	var back []Grant
	states := sync.OnceValues(func() ([]cgroup.State, error) { return k.holder.Groups.Read(e.groups) })
	for s, h := range e.held {
		if !unwanted(s) {
			continue
		}
		away = append(away, s)
		was, ok, err := k.back(e, h, states)
		if err != nil && !errors.Is(err, cgroup.ErrGone) {
			return 0, fmt.Errorf("remove limits: %w", err)
		}
		if ok {
			back = append(back, Grant{Slot: s, Rule: "before", limits: was})
		}
	}
	if len(away) == 0 {
		return 0, nil
	}
	for _, p := range parts(back) {
		n, err := k.restore(e, p)
		writes += n
		if err != nil && !errors.Is(err, cgroup.ErrGone) {
			return writes, fmt.Errorf("remove limits: %w", err)
		}
	}
	for _, s := range away {
		delete(e.held, s)
	}
	e.trim()
	err = k.store.save(e)
	e.stale = err != nil
	return writes, err
}

// check compares an entry's limits with the kernel's, and writes those that differ. Without drift it writes nothing.
// A failed rule doesn't affect the others; its error is in faults. The error wraps cgroup.ErrGone or errReplaced if
// the whole entry has to be evaluated again.
func (k *Keeper) check(e *entry) (writes int, faults []Fault, err error) {
	if e != k.root {
		return k.checkParts(e)
	}
	// Most looks find nothing to write, and need no lock.
	if differ := slices.ContainsFunc(e.parts, func(p part) bool {
		plans, err := k.differs(e, p)
		return err != nil || len(plans) > 0
	}); !differ {
		return 0, nil, nil
	}
	// Its limits may be another owner's by now, who set them while this keeper looked.
	if locked := k.lockRoot(func() error {
		writes, faults, err = k.checkParts(e)
		return nil
	}); locked != nil {
		faults = append(faults, Fault{Text: locked.Error(), Err: locked})
	}
	return writes, faults, err
}

// checkParts is check; for the root group, its records are locked.
func (k *Keeper) checkParts(e *entry) (writes int, faults []Fault, err error) {
	for i := range e.parts {
		p := &e.parts[i]
		plans, err := k.differs(e, *p)
		// Asked only before a write, so that a check without drift costs no more.
		if (err != nil || len(plans) > 0) && k.diskChanged(e, p) {
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
