package hold

import (
	"context"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/engineapi"
	"plimsoll/internal/text/refusal"
)

// Keep is Apply. It also makes the containers' engines store the limits, so that their next start has them too. If an
// engine can't, nothing is changed.
func (h *Holder) Keep(ctx context.Context, s *Scope, c limit.Change) ([]Done, error) {
	apis := make([]*engineapi.API, len(s.GroupSets))
	defer func() {
		for _, a := range apis {
			if a != nil {
				a.Close()
			}
		}
	}()
	for i, p := range s.GroupSets {
		if p.DeviceWide {
			continue
		}
		if err := canKeep(p, c); err != nil {
			return nil, &groupSetError{p.Name, err}
		}
		var err error
		if apis[i], err = engineapi.Open(ctx, p.Target.Host); err != nil {
			return nil, &groupSetError{p.Name, err}
		}
		if err := apis[i].Keeps(s.forAPI(c.Set)); err != nil {
			return nil, &groupSetError{p.Name, err}
		}
	}
	x := h.Groups.Begin()
	all, err := h.apply(ctx, x, s, c)
	for i := range all {
		if err == nil && apis[i] != nil {
			err = h.keep(ctx, x, apis[i], s, &all[i], c)
		}
	}
	if err != nil {
		// Undo asks the engines to take the limits back, so their connections must still be open.
		return nil, x.Undo(ctx, err)
	}
	return all, nil
}

// keep makes one container's engine store the limits.
func (h *Holder) keep(ctx context.Context, x *cgroup.Transaction, api *engineapi.API, s *Scope, d *Done, c limit.Change) error {
	id := d.GroupSet.Target.ID
	before, err := api.Config(ctx, id)
	if err != nil {
		return &groupSetError{d.GroupSet.Name, err}
	}
	// A request that fails halfway may have been stored in part.
	x.Also("what "+api.Title()+" has stored of "+d.GroupSet.Name, func(ctx context.Context) error { return api.Restore(ctx, id, before) })
	o, err := api.Set(ctx, id, s.forAPI(c.Set))
	if err != nil {
		return &groupSetError{d.GroupSet.Name, err}
	}
	d.Kept = api.Title()
	d.Notes = append(d.Notes, o.Notes...)
	// An engine changes swap as it sees fit, and its runtime writes again what it knows of.
	if err := h.holdSet(ctx, x, d); err != nil {
		return err
	}
	d.Stored = nil
	h.lookStored(ctx, s, d, c)
	return nil
}

// canKeep returns an error if an engine can't store the change for a container.
func canKeep(p GroupSet, c limit.Change) error {
	no := func(what, why, fix string) error { return &refusal.Error{What: what, Why: why, Fix: fix} }
	switch {
	case p.Target.Kind != target.Container:
		return no("--keep", "this is not a container, and only engines store limits", "leave out --keep, or set the limits in systemd's configuration of the unit")
	case !byAPI(p.Target):
		why := string(p.Target.Engine) + " stores no limits; Docker and Podman do"
		if p.Target.Engine == target.Docker || p.Target.Engine == target.Podman {
			why = "the API of " + string(p.Target.Engine) + ", which stores limits, could not be asked"
		}
		return no("--keep", why, "recreate the container with the limits")
	case c.Set.Has(limit.Weight):
		return no("weight", "engines store weights on a scale of their own", "set it without --keep")
	case c.Set.Has(limit.Latency):
		return no("latency", "no engine stores it", "set it without --keep")
	}
	return nil
}

// forAPI converts limits to an engine's terms.
func (s *Scope) forAPI(l limit.Limits) engineapi.Resources {
	out := engineapi.Resources{CPUs: l.CPUs, CPUShares: l.CPUShares, Memory: l.Memory}
	if !l.Without(limit.Weight, limit.Latency).IO() {
		return out
	}
	for _, d := range s.Devices() {
		l := ratesOn(d, l)
		if !l.Without(limit.Weight, limit.Latency).IO() {
			continue
		}
		out.Devices = append(out.Devices, engineapi.Device{
			Path: device.NodePath(d.Name), Number: d.Number,
			ReadBPS: uint64(l.ReadBPS), WriteBPS: uint64(l.WriteBPS), ReadIOPS: uint64(l.ReadIOPS), WriteIOPS: uint64(l.WriteIOPS),
		})
	}
	return out
}
