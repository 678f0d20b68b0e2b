package keeper

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/policy"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/text/refusal"
)

// plimsoll limit set and plimsoll run also set limits in the root group. A device's limits there have one owner, and one
// record in the machine's folder, which names the owner. The keeper limits only devices without another owner. Its
// records outlive it, as its limits do. It changes them, and the limits, while no other process changes any record.

// rootWait is how long the keeper waits for another process that changes the root group. After that it retries later,
// and checks its other limits meanwhile.
const rootWait = 2 * time.Second

// lockRoot calls f with the records of the root group, which is locked, while no other process changes them. It has read
// the keeper's own by then, and given up the devices that have another owner now.
func (k *Keeper) lockRoot(f func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), rootWait)
	defer cancel()
	return k.opt.DeviceLimits.AsDaemon(ctx, k.opt.Run, func(r *hold.DaemonRecords) error {
		k.store.root = r
		defer func() { k.store.root = nil }()
		k.recallRoot(r.Own)
		if err := k.giveUpTaken(r); err != nil {
			return err
		}
		return f()
	})
}

// recallRoot reads once what an earlier keeper has recorded of the root group.
func (k *Keeper) recallRoot(records []hold.DeviceLimit) {
	if k.root.recalled {
		return
	}
	k.root.recalled, k.root.held = true, loadRoot(records)
	if len(k.root.held) > 0 {
		if err := k.findRoot(); err != nil {
			k.logf("%s: %v", k.root.name(), err)
		}
	}
	if _, err := k.opt.DeviceLimits.List(); err != nil {
		k.root.unknown = "its earlier limits can't be read: " + err.Error()
		k.logf("%s: %s", k.root.name(), k.root.unknown)
	}
}

// firstRoot reads the records of the root group when the keeper starts. A limit clear that began before may still remove
// such limits, and their records: it asked whether a keeper runs, and none did.
func (k *Keeper) firstRoot() {
	all, err := k.opt.DeviceLimits.List()
	if err == nil && !slices.ContainsFunc(all, func(n hold.DeviceLimit) bool { return n.OfDaemon(k.opt.Run) }) {
		k.root.recalled = true
		return
	}
	if err := k.lockRoot(func() error { return nil }); err != nil {
		k.logf("%s: %v", k.root.name(), err) // applyRoot tries again.
	}
}

// giveUpTaken gives up the limits of devices that have another owner now: a user removed the keeper's record, and set
// another limit. That limit stays. The keeper removes its limits of other keys, as the new record doesn't have them.
func (k *Keeper) giveUpTaken(r *hold.DaemonRecords) error {
	orphans := map[Slot]bool{}
	for _, h := range k.root.slots() {
		switch by, err := r.Taken(h.Device); {
		case err == nil:
		case by.Limits.Has(h.Key):
			k.logf("%s: the record of %s was removed, and the daemon leaves it: %v", k.root.name(), h.at(), err)
			delete(k.root.held, h.Slot)
		default:
			k.logf("%s: the record of %s was removed, and the daemon removes the limit: %v", k.root.name(), h.at(), err)
			orphans[h.Slot] = true
		}
	}
	k.root.trim()
	n, err := k.release(k.root, func(s Slot) bool { return orphans[s] })
	k.writes.Add(int64(n))
	return err
}

// recorded reports whether the keeper's limits in the root group have their records, which a user may have removed.
func (k *Keeper) recorded() bool {
	all, err := k.opt.DeviceLimits.List()
	own := map[device.Number]bool{}
	for _, n := range all {
		own[n.Device] = n.OfDaemon(k.opt.Run)
	}
	if err == nil {
		k.root.unknown = "" // A record of another owner was unreadable, and was discarded.
	}
	for s := range k.root.held {
		if !own[s.Device] {
			return false
		}
	}
	return true
}

// applyRoot applies the device-wide grants of all containers to the root group. For a device with several, the last
// rule decides.
func (k *Keeper) applyRoot() {
	k.root.mu.Lock()
	defer k.root.unlock()
	last := map[Slot]Grant{}
	k.mu.Lock()
	for _, grants := range k.deviceWide {
		for _, g := range grants {
			if old, ok := last[g.Slot]; !ok || g.rank > old.rank {
				last[g.Slot] = g
			}
		}
	}
	k.mu.Unlock()
	if len(last) == 0 && len(k.root.held) == 0 && len(k.root.broken) == 0 && k.root.recalled {
		return
	}
	if err := k.findRoot(); err != nil {
		// ScopeOf has found the root group already, where it can be limited at all.
		k.logf("the root group: %v", err)
		return
	}
	wanted := slices.Collect(maps.Values(last))
	if k.rootIs(merge(slices.Clone(wanted), k.inherited())) {
		return
	}
	old := faultTexts(k.root.broken)
	k.root.broken = nil
	n := 0
	apply := func() error {
		// First, because limits that another program changed are not inherited any more.
		overwritten, err := k.reconcile(k.root, func(s Slot) bool { _, ok := last[s]; return ok })
		if err != nil {
			return err
		}
		granted, faults, err := k.vacate(merge(wanted, k.inherited()))
		if err == nil {
			n, err = k.reapply(k.root, granted, overwritten)
			k.root.broken = append(k.root.broken, faults...)
		}
		return err
	}
	var err error
	if k.plans {
		if k.store.root, err = k.opt.DeviceLimits.OfDaemon(k.opt.Run); err == nil {
			err = apply()
		}
	} else {
		// Without the lock, the keeper neither sets nor removes limits: they may be another owner's.
		err = k.lockRoot(apply)
	}
	k.writes.Add(int64(n))
	if err != nil {
		k.root.broken = append(k.root.broken, Fault{Text: err.Error(), Err: err})
	}
	switch held := k.root.slots(); {
	case n == 0:
	case len(held) > 0:
		k.logf("the root group: held to %s", names(held))
	default:
		k.logf("the root group: no rule limits it any more")
	}
	k.noteRefused(last)
	k.schedule(k.root, old)
	k.follow(k.root)
}

// findRoot finds the locked root group.
func (k *Keeper) findRoot() (err error) {
	if k.root.groups == nil {
		k.root.groups, err = k.holder.Groups.Device()
	}
	return err
}

// noteRefused notes which of the wanted grants the locked root group did not get.
func (k *Keeper) noteRefused(wanted map[Slot]Grant) {
	refused := map[Slot]bool{}
	for s := range wanted {
		refused[s] = k.root.held[s] == nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refusedInRoot = refused
}

// rootIs reports whether the root group has exactly these grants, with their records. Then no lock is needed.
func (k *Keeper) rootIs(grants []Grant) bool {
	return !k.plans && k.root.recalled && len(k.root.broken) == 0 && len(grants) == len(k.root.held) && !slices.ContainsFunc(grants, func(g Grant) bool {
		h := k.root.held[g.Slot]
		return h == nil || h.Grant != g || h.unverified || h.prior != nil
	}) && k.recorded()
}

// vacate makes the devices of grants in the root group free for the keeper. It returns the grants for those devices,
// and a fault for each device that has another owner, or whose record can't be read. If the keeper limits the device
// already, the record was its own: the limits stay, and it is written again.
func (k *Keeper) vacate(grants []Grant) (granted []Grant, faults []Fault, err error) {
	vacate := k.store.root.Vacate
	if k.plans {
		vacate = k.store.root.Refusal
	}
	not := map[device.Number]error{}
	for _, g := range grants {
		err, asked := not[g.Device]
		if !asked {
			err = vacate(g.Device)
			not[g.Device] = err
		}
		damaged := errors.As(err, new(*journal.DamagedError))
		switch {
		case err == nil, damaged && k.root.on(map[device.Number]bool{g.Device: true}):
			granted = append(granted, g)
		case !errors.Is(err, refusal.ErrRefused) && !damaged:
			return nil, nil, err
		case !slices.ContainsFunc(faults, func(o Fault) bool { return o.Rule == g.Rule && o.Text == err.Error() }):
			faults = append(faults, Fault{Rule: g.Rule, Text: err.Error(), Err: err})
		}
	}
	return granted, faults, nil
}

// saveRoot records the root group's limits, with a record for each device: see lockRoot.
func (s *store) saveRoot(held []*Limit) error {
	var list []hold.DeviceLimit
	for _, h := range held {
		i := slices.IndexFunc(list, func(n hold.DeviceLimit) bool { return n.Device == h.Device })
		if i < 0 {
			i, list = len(list), append(list, hold.DeviceLimit{Device: h.Device, Disk: h.DeviceName})
		}
		n, r := &list[i], hold.RuleLimit{Key: h.Key, Rule: h.Rule, Since: h.Since, Before: h.was, Prior: h.prior, Drift: h.Drift}
		if h.identity != "" {
			n.Identity = h.identity
		}
		n.Limits, n.Rules = n.Limits.With(h.Key, h.limits), append(n.Rules, r)
	}
	return s.root.Record(list)
}

// loadRoot returns what an earlier keeper recorded of the root group.
func loadRoot(records []hold.DeviceLimit) map[Slot]*Limit {
	held := map[Slot]*Limit{}
	for _, n := range records {
		for _, r := range n.Rules {
			h := recordedLimit{Limits: limit.Limits{}.With(r.Key, n.Limits), Before: r.Before, Prior: r.Prior, Identity: n.Identity}
			h.Slot, h.DeviceName, h.Value, h.Rule = Slot{Key: r.Key, Device: n.Device, DeviceWide: true}, n.Disk, n.Limits.Text(r.Key), r.Rule
			h.Since, h.Was, h.Drift = r.Since, r.Before.Text(r.Key), r.Drift
			held[h.Slot] = h.remembered()
		}
	}
	return held
}

// ByRule divides a daemon's limits of a device into one for each rule, which it names as the owner. run is the folder of
// the daemon that needs no further name.
func ByRule(n hold.DeviceLimit, run string) (list []hold.DeviceLimit) {
	of := n.For
	if n.OfDaemon(run) {
		of = "plimsoll daemon"
	}
	for _, r := range n.Rules {
		if !n.Limits.Has(r.Key) {
			continue // The rule removes the limit.
		}
		one := n.Only([]limit.Key{r.Key})
		one.For = policy.Called(r.Rule) + " of " + of
		list = append(list, one)
	}
	return list
}
