package hold

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/unit"
)

// want is what a part shall have for a change.
func (s *Scope) want(p Part, c limit.Change) cgroup.Want {
	w := cgroup.Want{Change: c}
	if p.DeviceWide {
		w.Change = rates(c)
	}
	for _, d := range s.Devices() {
		w.Devices = append(w.Devices, cgroup.Device{Major: d.Major, Minor: d.Minor})
	}
	for _, d := range s.weights() {
		w.WeightDevices = append(w.WeightDevices, cgroup.Device{Major: d.Major, Minor: d.Minor})
	}
	return w
}

// weights are the disks that weights go on, each once.
func (s *Scope) weights() []explain.Weight {
	var list []explain.Weight
	for _, g := range s.Grounds {
		for _, d := range g.Explanation.Weights {
			if !slices.ContainsFunc(list, func(o explain.Weight) bool { return o.Name == d.Name }) {
				list = append(list, d)
			}
		}
	}
	return list
}

// rates is the part of a change that the root group can be told.
func rates(c limit.Change) limit.Change {
	var out limit.Change
	out.Set = limit.Limits{Name: c.Set.Name, ReadBPS: c.Set.ReadBPS, WriteBPS: c.Set.WriteBPS, ReadIOPS: c.Set.ReadIOPS, WriteIOPS: c.Set.WriteIOPS}
	for _, k := range c.Remove {
		if k.Rate() {
			out.Remove = append(out.Remove, k)
		}
	}
	return out
}

// A Done is what became of one part.
type Done struct {
	Part   Part         `json:"part"`
	Diff   *cgroup.Diff `json:"diff"`
	Writes int          `json:"writes"`
	// Properties are those that systemd was given for the part's unit.
	Properties []string `json:"properties,omitempty"`
	// Forgot are limits that the engine had stored and has no more, each in words.
	Forgot []string `json:"forgot,omitempty"`
	// Stored is what the engine has stored of what was changed, and sets again at the next start.
	Stored *Stored `json:"stored,omitempty"`
	// Kept names the engine that has stored what was set, "" if none was to.
	Kept string `json:"kept,omitempty"`
	// Notes say what could not be found out.
	Notes []string `json:"notes,omitempty"`

	unit unit.Edit
}

// Changes reports whether something is written, or had to be.
func (d Done) Changes() bool {
	return d.Writes > 0 || !d.Diff.Empty() || len(d.Properties) > 0 || len(d.Forgot) > 0
}

// Plan says what would be written for a change, and writes nothing.
func (h *Holder) Plan(ctx context.Context, s *Scope, c limit.Change) ([]Done, error) {
	all, err := h.plan(ctx, s, c)
	for i := range all {
		h.lookStored(ctx, s, &all[i], c)
	}
	return all, err
}

func (h *Holder) plan(ctx context.Context, s *Scope, c limit.Change) ([]Done, error) {
	var all []Done
	for _, p := range s.Parts {
		if p.Target != nil && p.Target.PID != 0 {
			// Its number may be another's by now, and so may its groups.
			if err := h.Finder.Alive(*p.Target); err != nil {
				return nil, err
			}
		}
		d, err := h.Groups.Plan(p.Groups, s.want(p, c))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
		done := Done{Part: p, Diff: d}
		if p.Unit != "" {
			if done.unit, err = h.Systemd.Plan(ctx, p.Unit, h.unitChange(s, p, c)); err != nil {
				return nil, fmt.Errorf("%s: %w", p.Name, err)
			}
			done.Properties = done.unit.Set
		}
		all = append(all, done)
	}
	return all, nil
}

// Apply makes a change in all parts, or in none. A container may make groups while its others are written: what
// it has made by the end is written too.
//
// What is removed is taken out of what an engine has stored first: its update has the runtime write what that
// knows of, which the groups are rid of afterwards. A unit's properties are set before its groups are written:
// systemd writes the same.
func (h *Holder) Apply(ctx context.Context, s *Scope, c limit.Change) ([]Done, error) {
	all, err := h.plan(ctx, s, c)
	if err != nil {
		return nil, err
	}
	for i := range all {
		h.forget(ctx, s, &all[i], c)
	}
	for i := range all {
		if err := h.applyPart(ctx, &all[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", all[i].Part.Name, h.undo(ctx, all[:i], err))
		}
	}
	for i, d := range all {
		n, err := h.Groups.Hold(d.Part.Groups, s.want(d.Part, c))
		all[i].Writes += n
		if err != nil && !errors.Is(err, cgroup.ErrGone) {
			return all, fmt.Errorf("%s: %w", d.Part.Name, err)
		}
		h.lookStored(ctx, s, &all[i], c)
	}
	return all, nil
}

// applyPart writes one part, all or nothing.
func (h *Holder) applyPart(ctx context.Context, d *Done) error {
	if d.Part.Unit != "" {
		if err := h.Systemd.Apply(ctx, d.unit); err != nil {
			return err
		}
	}
	n, err := d.Diff.Apply()
	d.Writes = n
	if err != nil && d.Part.Unit != "" {
		err = errors.Join(err, h.Systemd.Undo(context.WithoutCancel(ctx), d.unit))
	}
	return err
}

// undo puts back what parts had before.
func (h *Holder) undo(ctx context.Context, parts []Done, err error) error {
	for _, before := range slices.Backward(parts) {
		if before.Part.Unit != "" {
			err = errors.Join(err, h.Systemd.Undo(context.WithoutCancel(ctx), before.unit))
		}
		err = before.Diff.Undo(err)
	}
	return err
}

// unitChange is a change in systemd's terms.
func (h *Holder) unitChange(s *Scope, p Part, c limit.Change) unit.Change {
	u := unit.Change{Remove: c.Remove}
	u.Set = unit.Limits{CPUs: c.Set.CPUs, CPUShares: uint64(c.Set.CPUShares), Memory: uint64(c.Set.Memory), NoSwap: c.Set.Memory > 0}
	for _, d := range s.Devices() {
		u.Paths = append(u.Paths, node(d.Name))
		if x := (unit.Device{
			Path: node(d.Name), Latency: c.Set.Latency, ReadBPS: uint64(c.Set.ReadBPS), WriteBPS: uint64(c.Set.WriteBPS),
			ReadIOPS: uint64(c.Set.ReadIOPS), WriteIOPS: uint64(c.Set.WriteIOPS),
		}); c.Set.IO() {
			u.Set.Devices = append(u.Set.Devices, x)
		}
	}
	weights := s.weights()
	for _, w := range weights {
		u.Paths = append(u.Paths, node(w.Name))
		if c.Set.Weight > 0 {
			x := unit.Device{Path: node(w.Name), Weight: uint64(c.Set.Weight)}
			if w.By == explain.ByBFQ {
				x.Weight = unit.ForBFQ(x.Weight)
			}
			u.Set.Devices = append(u.Set.Devices, x)
		}
	}
	if len(weights) == 0 {
		u.Set.Weight = uint64(c.Set.Weight)
	}
	return u
}

// node is the path of a device's node. In the kernel's names a "!" stands for the "/" of the node's.
func node(name string) string { return "/dev/" + strings.ReplaceAll(name, "!", "/") }
