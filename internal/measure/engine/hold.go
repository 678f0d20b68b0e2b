package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
)

// A ground is the place where the limits of one running session are set: its control groups, and the devices under its
// data.
type ground struct {
	fs      device.FS
	session Limited
	io      *IOLimits
	groups  *cgroup.Host
	target  *cgroup.Target
	// where is nil if nothing of I/O is asked for.
	where *explain.Explanation
	// machine is the folder of the machine's device-wide limits.
	machine string
}

// groundOf finds where the limits of a session go; nil if it has none, or is a daemon's elsewhere, whose own word
// has to do for what isn't about I/O.
func groundOf(s Session, fs device.FS, machine string) (*ground, error) {
	l, ok := s.(Limited)
	if !ok {
		return nil, nil
	}
	io := l.IOLimits()
	info := s.Info()
	keys := io.Asks()
	switch {
	case io.Asked.IsZero(), len(keys) == 0 && info.PID == 0:
		return nil, nil
	case info.PID == 0:
		return nil, io.No(keys, "the worker's process is not known", "")
	}
	groups, err := cgroup.Open(fs)
	if err != nil {
		return nil, io.No(keys, "control groups can't be used: "+err.Error(), "")
	}
	g := &ground{fs: fs, session: l, io: io, groups: groups, machine: machine}
	if io.Own != nil {
		g.target = io.Own.Target
	} else if g.target, err = groups.Find(info.PID, io.Container, ""); err != nil {
		if len(keys) == 0 {
			return nil, nil
		}
		return nil, io.No(keys, err.Error(), "")
	}
	if len(keys) > 0 {
		g.where, err = io.Explain(fs, keys, info.HostPath)
	}
	return g, err
}

// want is what the session's groups shall have.
func (g *ground) want(l limit.Limits) cgroup.Want {
	w := cgroup.Want{Change: limit.Change{Set: l}}
	for _, d := range g.where.Hard {
		w.Devices = append(w.Devices, d.Number())
	}
	if l.Weight > 0 {
		for _, d := range g.where.Weights {
			w.WeightDevices = append(w.WeightDevices, d.Number())
		}
	}
	return w
}

// plan says what would be written for a session's limits on I/O, and refuses what can't be.
func (g *ground) plan() (*cgroup.Diff, error) {
	l := g.io.Asked.OnIO()
	if l.Weight > 0 {
		for _, w := range g.where.Weights {
			if w.Charge == explain.Leaks {
				return nil, g.io.No([]limit.Key{limit.Weight}, "the container's I/O is charged to no group on "+w.Name+": "+w.Why, "")
			}
		}
	}
	diff, err := g.groups.Plan(g.target, g.want(l))
	var f *cgroup.Fault
	if errors.As(err, &f) {
		return nil, g.io.No(f.Keys, f.Why, f.Fix)
	}
	if err != nil {
		return nil, fmt.Errorf("limits %s: %w", g.io.Asked.Name, err)
	}
	if g.io.Devices != nil {
		return diff, g.given(diff)
	}
	return diff, nil
}

// given fails unless the kernel's limits equal those that the session's daemon (such as Docker's) was asked to set.
func (g *ground) given(diff *cgroup.Diff) error {
	for _, e := range diff.Edits {
		if !slices.ContainsFunc(e.Keys, limit.Key.Rate) {
			continue
		}
		if !slices.ContainsFunc(g.io.Devices, func(d explain.Spot) bool { return d.Number().String() == e.Device }) {
			return g.io.No(e.Keys, "the data turned out to be on "+e.Device+", which could not be known when the container was made", "use bind, or a volume of the driver local")
		}
		return g.io.No(e.Keys, "the daemon said yes, and its runtime did not set it", "upgrade the runtime, or use the oci engine")
	}
	return nil
}

// CheckHold reports why the limits on I/O of a session that runs can't be held here: a *refusal.Error, or an error. It
// writes nothing. machine is the folder of what is recorded of the machine's device-wide limits.
func CheckHold(s Session, machine string) error { return checkHold(s, device.Host(), machine) }

func checkHold(s Session, fs device.FS, machine string) error {
	g, err := groundOf(s, fs, machine)
	if err != nil || g == nil || g.where == nil {
		return err
	}
	if g.io.Devices == nil || g.io.Asked.Weight > 0 || g.io.Asked.Latency > 0 || g.io.Asked.DeviceWide {
		if os.Geteuid() != 0 {
			return g.io.No(g.io.Asks(), "writing to control groups needs root", "run as root")
		}
	}
	if _, err := g.plan(); err != nil {
		return err
	}
	if g.io.Asked.DeviceWide {
		_, err = g.wides()
	}
	return err
}

// A Hold is limits on I/O in force.
type Hold struct {
	grounds []*ground
	wide    []*wide
	held    []*limit.Held
}

// Of is what is in force for one of the sessions, by its place among them; nil for nothing.
func (h *Hold) Of(i int) *limit.Held {
	if h == nil || i >= len(h.held) {
		return nil
	}
	return h.held[i]
}

// Foreign are those of some limits that are none of the sessions' own.
func (h *Hold) Foreign(found []limit.Applied) []limit.Applied {
	if h == nil {
		return found
	}
	return slices.DeleteFunc(found, func(f limit.Applied) bool {
		return slices.ContainsFunc(h.held, func(own *limit.Held) bool { return own != nil && slices.ContainsFunc(own.Applied, f.Same) })
	})
}

// HoldAll puts the limits on I/O of sessions in force, all or none, until Release is called. Rates that shall
// hold at the device are summed over the sessions, and recorded in the machine's folder. Until ctx ends it waits for others who write to the
// root group.
func HoldAll(ctx context.Context, sessions []Session, machine string) (*Hold, error) {
	return holdAll(ctx, sessions, device.Host(), machine)
}

func holdAll(ctx context.Context, sessions []Session, fs device.FS, machine string) (_ *Hold, err error) {
	h := &Hold{held: make([]*limit.Held, len(sessions))}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Release())
		}
	}()
	at := make([]*ground, len(sessions))
	for i, s := range sessions {
		g, err := groundOf(s, fs, machine)
		if err != nil {
			return h, err
		}
		if at[i] = g; g == nil || g.where == nil {
			continue
		}
		if _, err := g.plan(); err != nil {
			return h, err
		}
		h.grounds = append(h.grounds, g)
		if _, err := g.groups.Hold(g.target, g.want(g.io.Asked.OnIO())); err != nil {
			return h, fmt.Errorf("limits %s: %w", g.io.Asked.Name, err)
		}
	}
	if h.wide, err = holdWide(ctx, h.grounds); err != nil {
		return h, err
	}
	for i, g := range at {
		if g == nil {
			continue
		}
		if h.held[i], err = g.read(h.wide); err != nil {
			return h, err
		}
	}
	return h, nil
}

// Release takes the limits back that Hold has put in force; what a daemon was given stays. A container that has
// ended took its limits along.
func (h *Hold) Release() error {
	var errs []error
	for _, w := range h.wide {
		errs = append(errs, w.release())
	}
	for _, g := range h.grounds {
		c := limit.Change{Remove: g.io.Asks()}
		if g.io.Devices != nil {
			c.Remove = slices.DeleteFunc(c.Remove, limit.Key.Rate)
		}
		w := g.want(g.io.Asked)
		w.Change = c
		if _, err := g.groups.Hold(g.target, w); err != nil && !errors.Is(err, cgroup.ErrGone) {
			errs = append(errs, fmt.Errorf("take the limits %s back: %w", g.io.Asked.Name, err))
		}
	}
	h.wide, h.grounds = nil, nil
	return errors.Join(errs...)
}

// read asks the kernel what is in force for a session.
func (g *ground) read(wides []*wide) (*limit.Held, error) {
	states, err := g.groups.Read(g.target)
	if err != nil {
		return nil, fmt.Errorf("read the limits back: %w", err)
	}
	held := &limit.Held{}
	own := states[0]
	add := func(k limit.Key, l limit.Limits, a limit.Applied) {
		if l.Has(k) {
			a.Key, a.Value = k, l.Number(k)
			held.Applied = append(held.Applied, a)
		}
	}
	for _, k := range limit.Keys {
		switch {
		case !g.io.Asked.Has(k):
		case !k.IO():
			add(k, own.Limits, limit.Applied{By: limit.ByEngine, Group: own.Group})
		case k == limit.Weight:
			for _, d := range g.where.Weights {
				n := d.Number()
				add(k, own.Devices[n], limit.Applied{Device: d.Name, Number: n.String(), By: limit.ByGroup, Group: own.Group})
			}
		default:
			by := limit.ByGroup
			if k.Rate() && g.io.Devices != nil {
				by = limit.ByEngine
			}
			for _, d := range g.where.Hard {
				n := d.Number()
				add(k, own.Devices[n], limit.Applied{Device: d.Name, Number: n.String(), By: by, Group: own.Group})
			}
		}
	}
	if g.where == nil {
		return held, nil
	}
	for _, w := range wides {
		if g.io.Asked.DeviceWide && slices.ContainsFunc(g.where.Hard, func(d explain.Spot) bool { return d.Number() == w.device.Number() }) {
			held.Applied = append(held.Applied, w.applied()...)
		}
	}
	held.Escapes = g.escapes(len(wides) > 0)
	return held, nil
}

// escapes are the modes that the group's limits don't hold. wide says that a limit at the device is set.
func (g *ground) escapes(wide bool) []limit.Escape {
	var list []limit.Escape
	for _, m := range g.where.Modes {
		if m.Group == explain.Held || m.Group == explain.Never {
			continue
		}
		list = append(list, limit.Escape{Mode: m.Name, Holds: string(m.Group), Closed: wide && g.io.Asked.DeviceWide && m.Device == explain.Held, Why: m.Why})
	}
	return list
}
