package keeper

import (
	"context"
	"errors"
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
// records outlive it, as its limits do.

// rootWait is how long the keeper waits for another process that changes the root group. After that it retries later,
// and checks its other limits meanwhile.
const rootWait = 2 * time.Second

// vacate makes the devices of grants in the root group free for the keeper. It returns the grants for those devices,
// and a fault for each device that has another owner, or whose record can't be read. If the keeper limits the device
// already, the record was its own: the limits stay, and it is written again.
func (k *Keeper) vacate(grants []Grant) (granted []Grant, faults []Fault, err error) {
	if k.plans {
		return grants, nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), rootWait)
	defer cancel()
	not := map[device.Number]error{}
	for _, g := range grants {
		err, asked := not[g.Device]
		if !asked {
			err = k.opt.DeviceLimits.Vacate(ctx, k.opt.Run, g.Device)
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

// saveRoot records the root group's limits, with a record for each device.
func (s *store) saveRoot(held []*Limit) error {
	var list []hold.DeviceLimit
	for _, h := range held {
		i := slices.IndexFunc(list, func(n hold.DeviceLimit) bool { return n.Device == h.Device })
		if i < 0 {
			i, list = len(list), append(list, hold.DeviceLimit{Device: h.Device, Disk: h.DeviceName})
		}
		n, r := &list[i], hold.RuleLimit{Key: h.Key, Rule: h.Rule, Since: h.Since, Before: h.was, Drift: h.Drift}
		if h.prior != nil {
			r.Prior = h.prior.Text(h.Key)
		}
		if h.identity != "" {
			n.Identity = h.identity
		}
		n.Limits, n.Rules = n.Limits.With(h.Key, h.limits), append(n.Rules, r)
	}
	ctx, cancel := context.WithTimeout(context.Background(), rootWait)
	defer cancel()
	return s.root.Record(ctx, s.run, list)
}

// loadRoot reads what an earlier keeper of the folder recorded of the root group. If only some records can't be read, it
// also returns the limits of the others.
func (s *store) loadRoot() (map[Slot]*Limit, error) {
	held := map[Slot]*Limit{}
	all, err := s.root.List()
	for _, n := range all {
		if !n.OfDaemon(s.run) {
			continue
		}
		for _, r := range n.Rules {
			h := recordedLimit{Limits: limit.Limits{}.With(r.Key, n.Limits), Before: r.Before, Identity: n.Identity}
			h.Slot, h.DeviceName, h.Value, h.Rule = Slot{Key: r.Key, Device: n.Device, DeviceWide: true}, n.Disk, n.Limits.Text(r.Key), r.Rule
			h.Since, h.Was, h.Drift = r.Since, r.Before.Text(r.Key), r.Drift
			if r.Prior != "" {
				prior, _ := limit.Parse(r.Key, r.Prior) // Of "none", no limit.
				h.Prior = &prior
			}
			held[h.Slot] = h.remembered()
		}
	}
	return held, err
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
