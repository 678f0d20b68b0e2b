package hold

import (
	"context"
	"errors"
	"slices"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/systemd"
	"plimsoll/internal/limit/weight"
)

// want returns what a set of groups must have after a change.
func (s *Scope) want(p GroupSet, c limit.Change) cgroup.Want {
	w := cgroup.Want{Change: c}
	if p.DeviceWide {
		w.Change = rates(c)
	}
	for _, d := range s.Devices() {
		n := d.Number
		w.Devices = append(w.Devices, n)
		if d.ReadsOnly {
			w.ReadsOnly = append(w.ReadsOnly, n)
		}
	}
	for _, d := range s.Weights() {
		w.WeightDevices = append(w.WeightDevices, d.Number)
	}
	return w
}

// Weights returns the disks whose weights the scope's limits apply to, each once.
func (s *Scope) Weights() []explain.Weight {
	var list []explain.Weight
	for _, g := range s.Places {
		for _, d := range g.Explanation.Weights {
			if !slices.ContainsFunc(list, func(o explain.Weight) bool { return o.Name == d.Name }) {
				list = append(list, d)
			}
		}
	}
	return list
}

// rates returns the rates of a change, the only limits that the root group has.
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

// A Done is the effect of a change on one set of groups.
type Done struct {
	GroupSet GroupSet     `json:"group_set"`
	Diff     *cgroup.Diff `json:"diff"`
	Writes   int          `json:"writes"`
	// Properties are the properties that systemd set for the groups' unit.
	Properties []string `json:"properties"`
	// Forgot are limits that the engine had stored and has removed, each in words.
	Forgot []string `json:"forgot"`
	// Stored is what the engine has stored of the limits that changed, and sets again at the next start.
	Stored *Stored `json:"stored,omitempty"`
	// Kept names the engine that stored the new limits, "" if none was asked to.
	Kept string `json:"kept,omitempty"`
	// Restored are the limits from before a daemon's, which the root group has again.
	Restored limit.Limits `json:"restored,omitzero"`
	// Notes say what could not be determined.
	Notes []string `json:"notes"`

	// unit is what the change sets in the groups' unit.
	unit   systemd.Edit
	change systemd.Change
	// want is what its groups must have. lacks says why they can't have it yet: systemd must give them a controller
	// first.
	want  cgroup.Want
	lacks error
}

// Changes reports whether anything is written, or had to be.
func (d Done) Changes() bool {
	return d.Writes > 0 || !d.Diff.Empty() || len(d.Properties) > 0 || len(d.Forgot) > 0
}

// Plan returns what a change would write, and writes nothing.
func (h *Holder) Plan(ctx context.Context, s *Scope, c limit.Change) ([]Done, error) {
	all, err := h.plan(ctx, s, c)
	for i := range all {
		h.lookStored(ctx, s, &all[i], c)
	}
	return all, err
}

func (h *Holder) plan(ctx context.Context, s *Scope, c limit.Change) ([]Done, error) {
	var all []Done
	if slices.ContainsFunc(limit.Keys, func(k limit.Key) bool { return k.Writes() && c.Set.Has(k) }) {
		if err := s.Written(); err != nil {
			return nil, err
		}
	}
	if c.Set.Has(limit.Latency) {
		if err := s.Latency(); err != nil {
			return nil, err
		}
	}
	if c.Set.Has(limit.Weight) {
		if err := s.Weight(); err != nil {
			return nil, err
		}
	}
	if c.Set.IO() {
		for _, u := range s.Unlimited {
			if !slices.Contains(s.Notes, u) {
				s.Notes = append(s.Notes, u)
			}
		}
	}
	for _, p := range s.GroupSets {
		if p.Target != nil && p.Target.PID != 0 {
			// Its process id may be another's by now, and so may its groups.
			if err := h.Finder.Alive(*p.Target); err != nil {
				return nil, err
			}
		}
		done := Done{GroupSet: p, want: s.want(p, c)}
		d, err := h.Groups.Plan(p.Groups, done.want)
		if done.lacks = err; err != nil {
			d = awaited(err, &done)
		}
		if d == nil {
			return nil, &groupSetError{p.Name, err}
		}
		done.Diff = d
		if p.Unit != "" {
			done.change = h.unitChange(s, p, c)
			if done.unit, err = h.Systemd.Plan(ctx, p.Unit, done.change); err != nil {
				return nil, &groupSetError{p.Name, err}
			}
			done.Properties = done.unit.Set
			if done.lacks != nil && len(done.Properties) == 0 {
				// systemd was already told, and gives no controller.
				return nil, &groupSetError{p.Name, done.lacks}
			}
		}
		all = append(all, done)
	}
	return all, nil
}

// Apply makes a change in all sets of groups, or in none. A container may create groups while its others are written;
// groups created by the end are written too.
//
// Removed limits are first taken out of what an engine has stored: the engine's update makes the runtime write the
// limits that it knows of, and the groups are cleared afterwards. A unit's properties are set before its groups are
// written, because systemd writes the same values.
func (h *Holder) Apply(ctx context.Context, s *Scope, c limit.Change) ([]Done, error) {
	x := h.Groups.Begin()
	all, err := h.apply(ctx, x, s, c)
	if err != nil {
		return nil, x.Undo(ctx, err)
	}
	return all, nil
}

// apply is Apply as a part of a transaction, which can undo it.
func (h *Holder) apply(ctx context.Context, x *cgroup.Transaction, s *Scope, c limit.Change) ([]Done, error) {
	all, err := h.plan(ctx, s, c)
	if err != nil {
		return nil, err
	}
	for i := range all {
		h.forget(ctx, x, s, &all[i], c)
	}
	for i := range all {
		if err := h.applySet(ctx, x, &all[i]); err != nil {
			return nil, &groupSetError{all[i].GroupSet.Name, err}
		}
	}
	for i := range all {
		if err := h.holdSet(ctx, x, &all[i]); err != nil {
			return nil, err
		}
		h.lookStored(ctx, s, &all[i], c)
	}
	return all, nil
}

// applySet writes to one set of groups.
func (h *Holder) applySet(ctx context.Context, x *cgroup.Transaction, d *Done) error {
	if d.GroupSet.Unit != "" && len(d.unit.Set) > 0 {
		err := h.Systemd.Apply(ctx, d.unit)
		// A systemctl that was killed, or got no answer in time, may still have set everything.
		if err == nil || ctx.Err() != nil || h.unitChanged(ctx, d) {
			x.Also("the properties of "+d.GroupSet.Unit, func(ctx context.Context) error { return h.Systemd.Undo(ctx, d.unit) })
		}
		if err != nil {
			return err
		}
	}
	return h.withController(ctx, d, d.lacks, func() error {
		n, err := x.Apply(d.Diff)
		d.Writes += n
		return err
	})
}

// unitChanged reports whether the groups' unit differs from the unit for which the change was planned, or can't be
// read.
func (h *Holder) unitChanged(ctx context.Context, d *Done) bool {
	again, err := h.Systemd.Plan(ctx, d.GroupSet.Unit, d.change)
	return err != nil || !slices.Equal(again.Set, d.unit.Set)
}

// holdSet writes what differs by now. Groups that have gone since need no limits.
func (h *Holder) holdSet(ctx context.Context, x *cgroup.Transaction, d *Done) error {
	err := h.withController(ctx, d, nil, func() error {
		n, err := x.Hold(d.GroupSet.Groups, d.want)
		d.Writes += n
		return err
	})
	if err != nil && !errors.Is(err, cgroup.ErrGone) {
		return &groupSetError{d.GroupSet.Name, err}
	}
	return nil
}

// A groupSetError says which groups an error is about. Its text is made when it is printed, so that it includes
// additions to the error, such as that everything was undone.
type groupSetError struct {
	set string
	err error
}

// Error implements error.
func (e *groupSetError) Error() string { return e.set + ": " + e.err.Error() }

// Unwrap returns the underlying error.
func (e *groupSetError) Unwrap() error { return e.err }

// unitChange converts a change to systemd's terms.
func (h *Holder) unitChange(s *Scope, p GroupSet, c limit.Change) systemd.Change {
	u := systemd.Change{Remove: c.Remove}
	u.Set = systemd.Properties{CPUs: c.Set.CPUs, CPUShares: uint64(c.Set.CPUShares), Memory: uint64(c.Set.Memory), NoSwap: c.Set.Memory > 0}
	for _, d := range s.Devices() {
		u.Paths = append(u.Paths, device.NodePath(d.Name))
		set := ratesOn(d, c.Set)
		if x := (systemd.Device{
			Path: device.NodePath(d.Name), Latency: set.Latency, ReadBPS: uint64(set.ReadBPS), WriteBPS: uint64(set.WriteBPS),
			ReadIOPS: uint64(set.ReadIOPS), WriteIOPS: uint64(set.WriteIOPS),
		}); set.IO() {
			u.Set.Devices = append(u.Set.Devices, x)
		}
	}
	weights := s.Weights()
	for _, w := range weights {
		u.Paths = append(u.Paths, device.NodePath(w.Name))
		if c.Set.Weight > 0 {
			x := systemd.Device{Path: device.NodePath(w.Name), Weight: uint64(c.Set.Weight)}
			if h.dividedBy(p, w) == weight.ByBFQ {
				x.Weight = systemd.ForBFQ(x.Weight)
			}
			u.Set.Devices = append(u.Set.Devices, x)
		}
	}
	if len(weights) == 0 {
		u.Set.Weight = uint64(c.Set.Weight)
	}
	return u
}

// dividedBy returns what divides a disk by weight now, for some groups. It may differ from what the scope found:
// --enable-weights may have changed it since, and the weights of bfq don't show before some group has the I/O
// controller.
func (h *Holder) dividedBy(p GroupSet, w explain.Weight) string {
	g, err := p.Groups.Group(hierarchy.IO)
	if err != nil {
		return w.By
	}
	return h.Groups.WeightEffect(g, w.Number).By
}
