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
	"plimsoll/internal/limit/hold"
)

// A limited is a session's limits in the terms of package hold.
type limited struct {
	*IOLimits
	*hold.Holder
	hold.Request
}

// limitedOf finds where the limits of a running session go, and refuses those that can't be held. It is nil if there is
// nothing to hold: the session has no limits, or none on I/O and its process is on another machine.
func limitedOf(ctx context.Context, s Session, machine string) (*limited, error) {
	of, ok := s.(Limited)
	if !ok || of.IOLimits().Asked.IsZero() {
		return nil, nil
	}
	l, info := of.IOLimits(), s.Info()
	keys := l.Asked.Keys(limit.Key.IO)
	no := func(why string) (*limited, error) {
		if len(keys) == 0 {
			return nil, nil
		}
		return nil, l.No(keys, why, "")
	}
	if info.PID == 0 {
		return no("the worker's process is not known")
	}
	groups, err := cgroup.Open(device.Host())
	if err != nil {
		return no("control groups can't be used: " + err.Error())
	}
	var own *cgroup.Target
	if l.Own != nil {
		own = l.Own.Target
	} else if own, err = groups.Find(info.PID, l.Container, ""); err != nil {
		return no(err.Error())
	}
	var data *explain.Explanation
	if len(keys) > 0 {
		if data, err = l.Explain(device.Host(), keys, info.HostPath); err != nil {
			return nil, err
		}
	}
	x := &limited{l, &hold.Holder{FS: device.Host(), Groups: groups}, hold.Request{Scope: hold.ScopeIn(own, info.HostPath, data), Limits: l.Asked, ByEngine: l.Devices != nil}}
	diff, err := x.Try(ctx, machine, x.Request)
	var fault *cgroup.Fault
	if errors.As(err, &fault) {
		return nil, l.No(fault.Keys, fault.Why, fault.Fix)
	}
	if err != nil {
		return nil, fmt.Errorf("limits %s: %w", l.Asked.Name, err)
	}
	return x, x.checkDaemonApplied(diff)
}

// checkDaemonApplied fails if the session's daemon accepted rates that the kernel doesn't have. diff is what the kernel lacks.
func (l *limited) checkDaemonApplied(diff *cgroup.Diff) error {
	for _, e := range diff.Edits {
		switch {
		case !l.ByEngine || !slices.ContainsFunc(e.Keys, limit.Key.Rate):
		case !slices.ContainsFunc(l.Devices, func(d explain.Spot) bool { return d.Number == e.Device }):
			return l.No(e.Keys, "the data turned out to be on "+e.Device.String()+", which could not be known when the container was made", "use bind, or a volume of the driver local")
		default:
			return l.No(e.Keys, "the daemon accepted it, but its runtime did not set it", "upgrade the runtime, or use the oci engine")
		}
	}
	return nil
}

// CheckHold reports why the limits on I/O of a session that runs can't be held here: a *refusal.Error, or another. It
// writes nothing. machine is the folder of the machine's device-wide limits.
func CheckHold(s Session, machine string) error {
	l, err := limitedOf(context.Background(), s, machine)
	if err == nil && l != nil && os.Geteuid() != 0 && slices.ContainsFunc(l.Asked.Keys(limit.Key.IO), func(k limit.Key) bool { return !k.Rate() || !l.ByEngine || l.Asked.DeviceWide }) {
		err = l.No(l.Asked.Keys(limit.Key.IO), "writing to control groups needs root", "run as root")
	}
	return err
}

// A Hold is limits of sessions in force.
type Hold = hold.Temporary

// HoldAll puts the limits on I/O of sessions in force, all or none, until Release is called. Until ctx ends, it waits for other programs that write to the
// root group. After an error the Hold is nil, unless some limits could not be removed again: it has those.
func HoldAll(ctx context.Context, sessions []Session, machine string) (*Hold, error) {
	requests := make([]hold.Request, len(sessions))
	last := &limited{&IOLimits{}, &hold.Holder{}, hold.Request{}}
	for i, s := range sessions {
		l, err := limitedOf(ctx, s, machine)
		if err != nil {
			return nil, err
		}
		if l != nil {
			last, requests[i] = l, l.Request
		}
	}
	return last.Hold(ctx, machine, "plimsoll run ("+last.ID+")", requests)
}
