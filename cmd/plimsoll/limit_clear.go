package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
)

// limitClear removes limits of what was named.
func (a *app) limitClear(ctx context.Context, l *limiter, name string, only []limit.Key, where limitWhere, dry bool) error {
	// Limits of all devices are removed, unless some are named; a volume's are those of its device.
	named := where.Volume != "" || where.Path != "" || where.Device != "" || isVolume(name)
	keys := only
	if named && len(keys) == 0 {
		for _, k := range limit.Keys {
			if k.IO() {
				keys = append(keys, k)
			}
		}
	}
	at := where
	if !named {
		at.DeviceWide = false // The notes say which devices; the root group has others' limits, too.
	}
	s, err := l.scope(ctx, name, at, named)
	if err != nil {
		// A volume that has gone, or isn't used, may have limits in the root group all the same.
		ref, bad := target.Parse(name)
		if bad != nil {
			return err
		}
		list, bad := l.Wides(a.machine()).For(ref)
		if bad != nil || len(list) == 0 {
			return refusedThere(err, limit.Limits{})
		}
		gone := &hold.Scope{Target: target.Target{Kind: ref.Kind, Engine: ref.Engine, Namespace: ref.Namespace, Name: ref.Name}}
		gone.Notes = append(gone.Notes, "nothing else was cleared: "+err.Error())
		return a.clearWides(ctx, l, gone, list, only, where, dry)
	}
	apply := a.noting(l, a.disabling(l, l.Apply))
	if dry {
		apply = l.Plan
	}
	return a.change(ctx, l, a.wide(l, apply, dry), s, limit.Clear(keys...), where, dry)
}

// clearWides removes limits that were set in the root group, those of --device alone if there is one.
func (a *app) clearWides(ctx context.Context, l *limiter, s *hold.Scope, list []hold.Wide, only []limit.Key, where limitWhere, dry bool) error {
	if where.Device != "" {
		number := ""
		if stack, err := l.FS.Of(where.Device); err == nil && stack.Device != nil {
			number = stack.Device.Number().String()
		}
		list = slices.DeleteFunc(list, func(w hold.Wide) bool {
			return w.Device.String() != number && w.Disk != filepath.Base(where.Device)
		})
	}
	var left []hold.Done
	var kept []string
	if s.Target.Name == "" {
		var err error
		if left, kept, err = a.clearKeepers(l, only, where, dry); err != nil {
			return limitError(err)
		}
		list = slices.DeleteFunc(list, func(w hold.Wide) bool {
			switch {
			case w.OfDaemon(where.runDir()): // Its own notes say more.
				return l.daemonHas(where.runDir(), w.Device)
			case w.Daemon == "" || !keeper.Runs(w.Daemon):
				return false
			}
			kept = append(kept, fmt.Sprintf("%s stays in the root group: it is for %s; change its policy instead", w, w.For))
			return true
		})
		s.Notes = append(s.Notes, kept...)
	}
	if len(list)+len(left)+len(kept) == 0 {
		s.Notes = append(s.Notes, "no limit is recorded as set in the root group; plimsoll limit show --device-wide lists those that are")
	}
	done, err := l.Wides(a.machine()).Clear(ctx, list, only, dry)
	if err != nil {
		return limitError(err)
	}
	return a.tellDone(l, s, limit.Clear(only...), append(done, left...), where, dry)
}

// daemonHas reports whether the daemon of a folder holds the root group to something on a device, or has left it there.
func (l *limiter) daemonHas(run string, d device.Number) bool {
	held, err := keeper.RootGroup(l.Holder, run)
	return err != nil || slices.ContainsFunc(held, func(h keeper.Held) bool { return h.Device == d.String() })
}

// clearKeepers removes what plimsoll daemon has left in the root group.
func (a *app) clearKeepers(l *limiter, only []limit.Key, where limitWhere, dry bool) (done []hold.Done, kept []string, err error) {
	number := ""
	if where.Device != "" {
		if stack, err := l.FS.Of(where.Device); err == nil && stack.Device != nil {
			number = stack.Device.Number().String()
		}
	}
	return keeper.ClearRootGroup(l.Holder, where.runDir(), l.Wides(a.machine()), func(h keeper.Held) bool {
		return (len(only) == 0 || slices.Contains(only, h.Key)) && (where.Device == "" || h.Device == number || h.DeviceName == filepath.Base(where.Device))
	}, dry)
}

// wide makes a change together with what was set in the root group for its target.
func (a *app) wide(l *limiter, apply applier, dry bool) applier {
	return func(ctx context.Context, s *hold.Scope, change limit.Change) ([]hold.Done, error) {
		return l.Wides(a.machine()).Around(ctx, s, change, dry, func() ([]hold.Done, error) { return apply(ctx, s, change) })
	}
}
