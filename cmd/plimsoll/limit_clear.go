package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
)

// limitClearCommand removes limits.
func (a *app) limitClearCommand() *cobra.Command {
	var where limitWhere
	var keys []string
	var dry bool
	cmd := &cobra.Command{
		Use:   "clear [TARGET]",
		Short: "Remove limits",
		Long: `Clear removes all limits of a target from the kernel, whichever program set them, or only those that
--only names. With --volume, --path or --device it removes only limits on I/O, and only there.

It also removes what systemd has for a unit, and what the engine has stored for the container's next
start. Docker takes back limits of devices (from version 29.6) and no others, Podman takes back
none: clear prints what is left.

It also removes limits that were set for the target in the root group (--device-wide, or a volume with a
device of its own), even after the target itself has gone. Without TARGET, --device-wide removes all limits
that Plimsoll set there, for any target, or those on --device, and those that plimsoll daemon left there when
it ended. Limits that another program set there stay, unless --device-wide names their device for a TARGET.

` + targetHelp,
		Example: `  plimsoll limit clear web
  plimsoll limit clear web --only write_bps,write_iops
  plimsoll limit clear --device-wide`,
		Args: targetOr("device-wide"),
	}
	where.register(cmd)
	where.registerRun(cmd)
	cmd.Flags().StringSliceVar(&keys, "only", nil, "remove only these, such as write_bps")
	notEmpty(cmd, "only")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print the writes and make none of them")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var only []limit.Key
		for _, s := range keys {
			k, err := limit.ParseKey(s)
			if err != nil {
				return &exitError{exitUsage, err}
			}
			only = append(only, k)
		}
		if len(args) == 0 && (where.Volume != "" || where.Path != "") {
			return usageError("--volume and --path are a target's: name it, or a device with --device")
		}
		l, err := a.newLimiter()
		if err != nil {
			return err
		}
		defer l.Close()
		if len(args) == 0 {
			list, err := l.Wides(a.machine()).List()
			if err != nil {
				return err
			}
			return a.clearWides(cmd.Context(), l, &hold.Scope{}, list, only, where, dry)
		}
		return a.limitClear(cmd.Context(), l, args[0], only, where, dry)
	}
	return cmd
}

// targetOr is the check of the arguments of a command that takes a TARGET, and none with a flag.
func targetOr(flag string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && cmd.Flags().Changed(flag) {
			return nil
		}
		return exactly(1, "TARGET, or --"+flag)(cmd, args)
	}
}

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
