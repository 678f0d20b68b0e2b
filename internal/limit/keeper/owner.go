package keeper

import (
	"context"
	"errors"
	"slices"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/text/refusal"
)

// plimsoll limit set and plimsoll run also set limits in the root group. A device's limit there has one owner: the
// keeper limits only devices that it can claim, and the others leave those alone. Its claims outlive it, as its
// limits do.

// claimWait is how long the keeper waits for another process that changes the root group. After that it retries
// later, and checks its other limits meanwhile.
const claimWait = 2 * time.Second

// ownDevices claims the devices of grants in the root group. It returns the grants for devices that the keeper owns,
// and a fault for each of the others.
func (k *Keeper) ownDevices(grants []Grant) (granted []Grant, faults []Fault, err error) {
	if k.opt.DeviceLimits == nil || k.plans {
		return grants, nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), claimWait)
	defer cancel()
	wanted := map[device.Number]limit.Limits{}
	names := map[device.Number]string{}
	for _, g := range grants {
		if d := g.Device; !d.IsZero() {
			wanted[d], names[d] = wanted[d].With(g.Key, g.limits), g.DeviceName
		}
	}
	taken := map[device.Number]error{}
	for d, rates := range wanted {
		err := k.opt.DeviceLimits.Claim(ctx, k.opt.Run, d, names[d], rates)
		if errors.Is(err, refusal.ErrRefused) {
			taken[d] = err
		} else if err != nil {
			return nil, nil, err
		}
	}
	for _, g := range grants {
		if t := taken[g.Device]; t != nil {
			f := Fault{Rule: g.Rule, Text: t.Error(), Err: t}
			if !slices.ContainsFunc(faults, func(o Fault) bool { return o.Rule == f.Rule && o.Text == f.Text }) {
				faults = append(faults, f)
			}
			continue
		}
		granted = append(granted, g)
	}
	return granted, faults, nil
}

// giveUpDevices gives up the devices that the keeper no longer limits in the root group.
func (k *Keeper) giveUpDevices() error {
	if k.opt.DeviceLimits == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), claimWait)
	defer cancel()
	limited := map[device.Number]bool{}
	for s := range k.root.held {
		limited[s.Device] = true
	}
	return k.opt.DeviceLimits.Disclaim(ctx, k.opt.Run, func(d device.Number) bool { return limited[d] })
}
