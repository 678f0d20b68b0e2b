package hold

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
)

// A Request is limits for a scope during a measurement. Limits on other things than I/O are not set: only the kernel's
// values are reported.
type Request struct {
	*Scope
	Limits limit.Limits
	// ByEngine is set if the engine received the rates when it created the container.
	ByEngine bool
}

// change returns the change to make in a request's own groups.
func (r Request) change() limit.Change { return limit.Change{Set: r.Limits.OnIO()} }

// A Temporary is limits in force until Release. Those in the root group belong to this process: if it is killed, Sweep
// removes them. The groups are the process's own too, and their limits end with them. So nothing else is recorded, no
// disk is made to divide by weight, and nothing is stored for a container's next start.
type Temporary struct {
	holder  *Holder
	devices *DeviceLimits
	// inRoot is what was set in the root group. requests are those whose groups were changed.
	inRoot   []DeviceLimit
	requests []Request
	held     []*limit.Held
}

// Try returns what would be written to a request's groups, and writes nothing. It refuses a device that has another
// owner.
func (h *Holder) Try(ctx context.Context, machine string, r Request) (*cgroup.Diff, error) {
	done, err := h.plan(ctx, r.Scope, r.change())
	if err != nil {
		return nil, err
	}
	for _, d := range r.deviceWide() {
		if err := h.DeviceLimits(machine).Free(d); err != nil && !errors.Is(err, cgroup.ErrUnsupported) {
			return nil, err
		}
	}
	return done[0].Diff, nil
}

// Hold puts requests in force, all or none. A request without a scope asks for nothing. If several ask for rates of the
// same device in the root group, their sum is set there for owner. If others are writing to the root group, Hold waits
// until ctx ends. After an error the Temporary is nil, unless some limits could not be removed again: it has those.
func (h *Holder) Hold(ctx context.Context, machine, owner string, all []Request) (*Temporary, error) {
	t := &Temporary{holder: h, devices: h.DeviceLimits(machine), held: make([]*limit.Held, len(all))}
	if err := t.hold(ctx, owner, all); err != nil {
		if left := t.Release(); left != nil {
			return t, errors.Join(err, left)
		}
		return nil, err
	}
	return t, nil
}

func (t *Temporary) hold(ctx context.Context, owner string, all []Request) error {
	for _, r := range all {
		if r.Scope == nil {
			continue
		}
		_, err := t.holder.Apply(ctx, r.Scope, r.change())
		if err == nil || cgroup.NotRestored(err) {
			t.requests = append(t.requests, r)
		}
		if err != nil {
			return fmt.Errorf("limits %s: %w", r.Limits.Name, err)
		}
	}
	if err := t.holdDevices(ctx, owner); err != nil {
		return err
	}
	for i, r := range all {
		if r.Scope == nil {
			continue
		}
		var err error
		if t.held[i], err = t.inForce(r); err != nil {
			return fmt.Errorf("read the limits back: %w", err)
		}
	}
	return nil
}

// deviceWide returns the devices for which a request needs rates in the root group.
func (r Request) deviceWide() []explain.Spot {
	if !r.Limits.DeviceWide {
		return nil
	}
	return r.Devices()
}

// holdDevices sets the rates of devices in the root group, for all requests together.
func (t *Temporary) holdDevices(ctx context.Context, owner string) error {
	var devices []explain.Spot
	sums := map[device.Number]limit.Limits{}
	for _, r := range t.requests {
		for _, d := range r.deviceWide() {
			sum, ok := sums[d.Number]
			if !ok {
				devices = append(devices, d)
			}
			for _, k := range rates(r.change()).Set.Keys() {
				*sum.Whole(k) += *r.Limits.Whole(k)
			}
			sums[d.Number] = sum
		}
	}
	for _, d := range devices {
		sum := ratesOn(d, sums[d.Number])
		if sum.IsZero() {
			continue
		}
		n, err := t.devices.Hold(ctx, owner, d, sum)
		if errors.Is(err, cgroup.ErrUnsupported) {
			return nil // Version 2 charges buffered writes to the group of the writer.
		}
		if err == nil || cgroup.NotRestored(err) {
			t.inRoot = append(t.inRoot, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Release removes what Hold has set; rates that an engine was given stay. If a group has gone, its limits have gone
// with it. After an error the next Release removes what is left. A nil Temporary has set nothing.
func (t *Temporary) Release() error {
	if t == nil {
		return nil
	}
	var errs []error
	t.inRoot = slices.DeleteFunc(t.inRoot, func(n DeviceLimit) bool {
		err := t.devices.Release(context.Background(), n)
		if err != nil {
			errs = append(errs, fmt.Errorf("remove the limit of %s for all its users: %w", n.Disk, err))
		}
		return err == nil
	})
	t.requests = slices.DeleteFunc(t.requests, func(r Request) bool {
		c := limit.Change{Remove: slices.DeleteFunc(r.change().Set.Keys(), func(k limit.Key) bool { return k.Rate() && r.ByEngine })}
		_, err := t.holder.Apply(context.Background(), r.Scope, c)
		if err == nil || errors.Is(err, cgroup.ErrGone) {
			return true
		}
		errs = append(errs, fmt.Errorf("remove the limits %s: %w", r.Limits.Name, err))
		return false
	})
	return errors.Join(errs...)
}

// Of returns what is in force for a request, by its index; nil for nothing.
func (t *Temporary) Of(i int) *limit.Held {
	if t == nil {
		return nil
	}
	return t.held[i]
}

// Foreign returns those of some limits that none of the requests set.
func (t *Temporary) Foreign(found []limit.Applied) []limit.Applied {
	if t == nil {
		return found
	}
	return slices.DeleteFunc(found, func(f limit.Applied) bool {
		return slices.ContainsFunc(t.held, func(own *limit.Held) bool { return own != nil && slices.ContainsFunc(own.Applied, f.Same) })
	})
}

// inForce reads what the kernel has for a request, in its groups and in the root group, and says which kinds of write
// it doesn't hold.
func (t *Temporary) inForce(r Request) (*limit.Held, error) {
	states, err := t.holder.Groups.Read(r.GroupSets[0].Groups.Alone())
	if err != nil {
		return nil, err
	}
	held, own := &limit.Held{}, states[0]
	add := func(k limit.Key, l limit.Limits, disk string, number device.Number) {
		if !l.Has(k) {
			return
		}
		by := limit.ByGroup
		if !k.IO() || k.Rate() && r.ByEngine {
			by = limit.ByEngine
		}
		held.Applied = append(held.Applied, limit.Applied{Key: k, Value: l.Number(k), Device: disk, Number: number, By: by, Group: own.Group})
	}
	for _, k := range r.Limits.Keys() {
		switch {
		case !k.IO():
			add(k, own.Limits, "", device.Number{})
		case k == limit.Weight:
			for _, d := range r.Weights() {
				add(k, own.Devices[d.Number], d.Name, d.Number)
			}
		default:
			for _, d := range r.Devices() {
				add(k, own.Devices[d.Number], d.Name, d.Number)
			}
		}
	}
	for _, n := range t.inRoot {
		if slices.ContainsFunc(r.deviceWide(), func(d explain.Spot) bool { return d.Number == n.Device }) {
			for _, k := range n.Limits.Keys() {
				held.Applied = append(held.Applied, limit.Applied{Key: k, Value: n.Limits.Number(k), Device: n.Disk, Number: n.Device, By: limit.ByDevice, Group: "/"})
			}
		}
	}
	for _, g := range r.Places {
		for _, m := range g.Explanation.Modes {
			if m.Group != explain.Covered && m.Group != explain.Never {
				held.Escapes = append(held.Escapes, limit.Escape{Mode: m.Name, Holds: string(m.Group), Closed: r.Limits.DeviceWide && len(t.inRoot) > 0 && m.Device == explain.Covered, Why: m.Why})
			}
		}
	}
	return held, nil
}
