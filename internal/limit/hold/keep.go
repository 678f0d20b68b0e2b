package hold

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/engineapi"
	"plimsoll/internal/limit/target"
)

// Keep is Apply, and has the containers' engines store what is set, so that their next start has it too. Where an
// engine can't, nothing is changed.
func (h *Holder) Keep(ctx context.Context, s *Scope, c limit.Change) ([]Done, error) {
	apis := make([]*engineapi.API, len(s.Parts))
	defer func() {
		for _, a := range apis {
			if a != nil {
				a.Close()
			}
		}
	}()
	for i, p := range s.Parts {
		if p.DeviceWide {
			continue
		}
		if err := canKeep(p, c); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		var err error
		if apis[i], err = engineapi.Open(ctx, p.Target.Host); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		if err := apis[i].Keeps(s.forAPI(c.Set)); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	all, err := h.Apply(ctx, s, c)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if apis[i] == nil {
			continue
		}
		p := all[i].Part
		o, err := apis[i].Set(ctx, p.Target.ID, s.forAPI(c.Set))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, h.undo(ctx, all, err))
		}
		all[i].Kept = apis[i].Title()
		all[i].Notes = append(all[i].Notes, o.Notes...)
		// An engine has its own mind about swap, and its runtime writes again what it knows of.
		n, err := h.Groups.Hold(p.Groups, s.want(p, c))
		all[i].Writes += n
		if err != nil && !errors.Is(err, cgroup.ErrGone) {
			return all, fmt.Errorf("%s: %w", p.Name, err)
		}
		all[i].Stored = nil
		h.lookStored(ctx, s, &all[i], c)
	}
	return all, nil
}

// canKeep says what can't be stored for a part.
func canKeep(p Part, c limit.Change) error {
	no := func(what, why, fix string) error { return &engineapi.UnsupportedError{What: what, Why: why, Fix: fix} }
	switch {
	case p.Target.Kind != target.Container:
		return no("--keep", "only an engine stores limits, and this is no container", "set them without, or in systemd's configuration of the unit")
	case !byAPI(p.Target):
		return no("--keep", "Docker and Podman store limits, by their API; "+string(p.Target.Engine)+" has those with which a container was made, or its API could not be asked", "make the container anew with the limits")
	case c.Set.Has(limit.Weight):
		return no("weight", "engines store weights on a scale of their own", "set it without --keep")
	case c.Set.Has(limit.Latency):
		return no("latency", "no engine stores it", "set it without --keep")
	}
	return nil
}

// forAPI are limits in an engine's terms.
func (s *Scope) forAPI(l limit.Limits) engineapi.Limits {
	out := engineapi.Limits{CPUs: l.CPUs, CPUShares: l.CPUShares, Memory: l.Memory}
	if !l.Without(limit.Weight, limit.Latency).IO() {
		return out
	}
	for _, d := range s.Devices() {
		out.Devices = append(out.Devices, engineapi.Device{
			Path: node(d.Name), Major: d.Major, Minor: d.Minor,
			ReadBPS: uint64(l.ReadBPS), WriteBPS: uint64(l.WriteBPS), ReadIOPS: uint64(l.ReadIOPS), WriteIOPS: uint64(l.WriteIOPS),
		})
	}
	return out
}
