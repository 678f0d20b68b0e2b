package keeper

import (
	"errors"
	"fmt"
	"slices"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/policy"
)

// The records of an earlier keeper may be out of date: limits stay when a keeper ends, and another program may clear or
// change them before the next keeper starts. A record counts only while the kernel still has the keeper's own value.
// Otherwise the keeper would restore an old value over a newer limit, and would report that the limit held all the time.

// reconcile compares an entry's records with the kernel's values, and drops and logs those with another value: another
// program has changed the limit. That limit stays, unless wanted reports that a rule sets it. Such slots are
// returned, and their present value becomes the one to restore later. reconcile runs once per entry, since a running
// keeper corrects later changes.
func (k *Keeper) reconcile(e *entry, wanted func(Slot) bool) (changed []Slot, err error) {
	if k.plans || e.groups == nil {
		return nil, nil
	}
	var states []cgroup.State
	dropped := false
	for _, h := range e.slots() {
		if !h.unverified {
			continue
		}
		if states == nil {
			if states, err = k.holder.Groups.Read(e.groups); err != nil {
				return changed, err
			}
		}
		h.unverified = false
		// Disks that are gone or were replaced are handled in identity.go.
		if k.fateOf(h) != stays || k.owns(e, h, states) {
			continue
		}
		if wanted(h.Slot) {
			changed = append(changed, h.Slot)
		} else {
			k.leave(e, h, states)
		}
		delete(e.held, h.Slot)
		dropped = true
	}
	if !dropped {
		return nil, nil
	}
	return changed, k.store.save(e)
}

// owns reports whether the kernel has the keeper's own value for h: as recorded, or the value before it, if the
// keeper was killed before the write, or either as rounded by the kernel.
func (k *Keeper) owns(e *entry, h *Limit, states []cgroup.State) bool {
	values := []limit.Limits{h.limits}
	if h.prior != nil {
		values = append(values, *h.prior)
	}
	now := wasLimit(states, h.Slot)
	return slices.ContainsFunc(values, func(l limit.Limits) bool {
		return now.Text(h.Key) == l.Text(h.Key) || k.rounded(e, h, l)
	})
}

// rounded reports whether the entry's own group would need no write to have l for h.
func (k *Keeper) rounded(e *entry, h *Limit, l limit.Limits) bool {
	g := h.Grant
	g.limits = l
	top, err := e.groups.Group(controllerOf(h.Slot))
	if err != nil {
		return false
	}
	for _, p := range parts([]Grant{g}) {
		plans, err := k.differs(e, p)
		if err != nil {
			return false
		}
		for _, d := range plans {
			if slices.ContainsFunc(d.Edits, func(x cgroup.Edit) bool { return x.Group == top.Path && slices.Contains(x.Keys, h.Key) }) {
				return false
			}
		}
	}
	return true
}

// stillOwn is owns for a limit that is to be removed. Groups that are gone have no limits.
func (k *Keeper) stillOwn(e *entry, h *Limit, now func() ([]cgroup.State, error)) (bool, error) {
	states, err := now()
	switch {
	case errors.Is(err, cgroup.ErrGone):
		return true, nil
	case err != nil:
		return false, err
	case k.owns(e, h, states):
		return true, nil
	}
	k.leave(e, h, states)
	return false, nil
}

// leave logs that a limit stays as another program has set it.
func (k *Keeper) leave(e *entry, h *Limit, states []cgroup.State) {
	is := wasLimit(states, h.Slot)
	text := fmt.Sprintf("%s: %s is %s, no longer the %s of %s: another program changed it, so the daemon leaves it", e.name(), h.at(), is.Text(h.Key), h.Value, policy.Called(h.Rule))
	if was := h.was.Text(h.Key); was != is.Text(h.Key) {
		text += "; the value before the daemon, " + was + ", is not restored"
	}
	k.logf("%s", text)
}

// at names the limit: "write_bps on vda".
func (h *Limit) at() string {
	if h.DeviceName == "" {
		return string(h.Key)
	}
	return string(h.Key) + " on " + h.DeviceName
}
