package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/text/refusal"
)

// verifyScope finds what a command line names, to be tried: the files that it writes are a container's own, or in the folder that
// --path names. only are the numbers of the devices that --device means, empty for all.
func (l *limiter) verifyScope(ctx context.Context, name string, where limitWhere) (s *hold.Scope, only []device.Number, err error) {
	ref, err := target.Parse(name)
	if err != nil {
		return nil, nil, &exitError{exitUsage, err}
	}
	if ref.Kind == target.Cgroup || ref.Kind == target.Unit {
		t, err := l.finder.Resolve(ctx, ref)
		if err != nil {
			return nil, nil, limitError(err)
		}
		if t.PID == 0 && where.Path == "" {
			return nil, nil, usageError("verify writes files, and %s has none of its own: say with --path in which folder of this machine%s", t.Ref(), l.limitedOn(t, where.Device))
		}
	}
	if where.Device != "" {
		on, err := l.scope(ctx, name, where, true)
		if err != nil {
			return nil, nil, err
		}
		for _, d := range on.Devices() {
			only = append(only, d.Number())
		}
		named := where.Device
		where.Device = ""
		if s, err = l.scope(ctx, name, where, true); err != nil {
			return nil, nil, err
		}
		if !slices.ContainsFunc(s.Devices(), func(d explain.Spot) bool { return slices.Contains(only, d.Number()) }) {
			return nil, nil, limitError(&refusal.Error{Act: refusal.Tried, What: s.Target.Ref(), Why: "none of its data is on " + named + ", and verify writes files",
				Fix: "name with --path a folder of it that is"})
		}
		return s, only, nil
	}
	s, err = l.scope(ctx, name, where, true)
	return s, nil, err
}

// limitedOn says on which devices a folder must be for a limit to be tried there.
func (l *limiter) limitedOn(t target.Target, device string) string {
	if device != "" {
		return ", on " + device
	}
	name := t.Name
	if len(t.Groups) > 0 {
		name = t.Groups[0].Path
	}
	groups, err := l.Groups.At(name)
	if err != nil {
		return ""
	}
	states, err := l.Groups.Read(groups)
	if err != nil || len(states) == 0 {
		return ""
	}
	var on []string
	for n := range states[0].Devices {
		name := n.String()
		if d, err := l.FS.Disk(n); err == nil {
			name = fmt.Sprintf("%s (%s)", d.Name, n)
		}
		on = append(on, name)
	}
	if len(on) == 0 {
		return ""
	}
	slices.Sort(on)
	return "; its limits are for " + strings.Join(on, ", ")
}
