package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/engineapi"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/weight"
	"plimsoll/internal/text/refusal"
)

// impliedSizes are the block sizes at which a rate is put in the other unit: those of a database and of a copy.
var impliedSizes = []int64{4 << 10, 1 << 20}

// limitSetCommand sets limits.
func (a *app) limitSetCommand() *cobra.Command {
	var where limitWhere
	var how limitHow
	cmd := &cobra.Command{
		Use:   "set TARGET",
		Short: "Set limits of a container, process, group, unit or volume",
		Long: `Set sets limits at once. Limits that aren't named stay as they are; "none" removes one.
It sets all or none: if the kernel refuses one, it restores the values from before.

` + targetHelp + `

Limits on I/O apply to the container's own layer and everything mounted into it, unless --volume,
--path or --device names less. Those of pid:N apply to the device of its /, those of cgroup:PATH
to what --path or --device names. All data on a device shares one limit; the output says so. A percentage
is of the highest rate measured on the device ("plimsoll run" records it).

A restarted container begins without these limits, unless --keep has its engine store them. Docker
does that (limits of devices from version 29.6), and Podman from version 5.1. Docker can't take back
stored limits of memory and CPUs, and Podman can't take back any: only a new container is without
them. The daemon's policy keeps limits across restarts without that.

A weight has no effect unless bfq schedules the disk or iocost is enabled for it: set refuses it.
--enable-weights enables weights on the disk, for all its users; clear undoes that when the last
weight that needed it has gone.

On control groups of version 1 the kernel writes a container's buffered writes back in the root
group. So a volume with a device of its own is limited there too, and --device-wide does that for
any device. Plimsoll records the target of such a limit: clear removes it with the target's own.

Exit status: 0; 1 if a limit was refused; 2 for wrong usage; 5 if it can't be had here.`,
		Example: `  plimsoll limit set web --write-bps 10MiB --write-iops 500
  plimsoll limit set web --volume data --read-bps 25%
  plimsoll limit set volume:data --write-bps 10MiB
  plimsoll limit set web --cpus 1.5 --memory 4GiB
  plimsoll limit set web --write-bps none
  plimsoll limit set web --volume data --write-bps 10MiB --device-wide
  plimsoll limit set web --volume data --weight 200 --enable-weights
  plimsoll limit set web --latency 5ms --dry-run
  plimsoll limit set web --write-bps 10MiB --keep
  plimsoll limit set pid:4711 --path /srv --write-bps 10MiB
  plimsoll limit set cgroup:/backup --path /srv --read-iops 200`,
		Args: exactly(1, "TARGET"),
	}
	read := limitFlags(cmd)
	where.register(cmd)
	f := cmd.Flags()
	f.BoolVar(&how.dry, "dry-run", false, "print the writes and make none of them")
	f.BoolVar(&how.keep, "keep", false, "let the engine store it too, for the container's next start (Docker; Podman 5.1)")
	f.StringVar(&how.enable, "enable-weights", "", "with --weight: make the disk be divided by weight, for all its users: bfq, iocost or auto")
	f.Lookup("enable-weights").NoOptDefVal = enableAuto
	where.registerRun(cmd)
	cmd.MarkFlagsMutuallyExclusive("dry-run", "keep")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "enable-weights")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ask, err := read()
		if err != nil {
			return err
		}
		if ask.IsZero() {
			return usageError("no limit is named: give one, such as --write-bps 10MiB")
		}
		if how.enable != "" && !ask.Limits.Has(limit.Weight) {
			return usageError("--enable-weights goes with --weight: give the share, such as --weight 200")
		}
		if !slices.Contains([]string{"", enableAuto, weight.ByBFQ, weight.ByIOCost}, how.enable) {
			return usageError("--enable-weights=%s: there are %s, %s and %s", how.enable, enableAuto, weight.ByBFQ, weight.ByIOCost)
		}
		return a.limitSet(cmd.Context(), args[0], where, ask, how)
	}
	return cmd
}

// limitHow is how limits are set.
type limitHow struct {
	dry, keep bool
	// enable is what shall divide disks by weight, enableAuto for whichever can, "" to leave them.
	enable string
}

const enableAuto = "auto"

// asksIO reports whether a limit on I/O is asked for: those need a device.
func asksIO(ask limit.Ask) bool {
	return ask.Limits.IO() || ask.Limits.Has(limit.Weight) || ask.Limits.Has(limit.Latency) || len(ask.Percent) > 0 ||
		slices.ContainsFunc(ask.Remove, limit.Key.IO)
}

// refusedThere puts the words of a daemon elsewhere, which refuses a change, in the place of err, which says that it is elsewhere.
func refusedThere(err error, set limit.Limits) error {
	var there *refusal.Error
	if errors.As(err, &there) {
		if refused := engineapi.Refused(there.OS, set); refused != nil {
			return fmt.Errorf("%s: %w", there.What, refused)
		}
	}
	return err
}

// limitSet sets what was asked for.
func (a *app) limitSet(ctx context.Context, name string, where limitWhere, ask limit.Ask, how limitHow) error {
	l, err := a.newLimiter()
	if err != nil {
		return err
	}
	defer l.Close()
	s, err := l.scope(ctx, name, where, asksIO(ask))
	if err != nil {
		return refusedThere(err, ask.Limits)
	}
	change, err := a.resolved(ask, s)
	if err != nil {
		return err
	}
	apply := l.Apply
	switch {
	case how.dry:
		apply = l.Plan
	case how.keep:
		apply = l.Keep
	case how.enable != "":
		apply = a.enabling(l, how.enable)
	}
	if slices.Contains(change.Remove, limit.Weight) && !how.dry {
		apply = a.disabling(l, apply)
	}
	if !how.dry {
		apply = a.noting(l, apply)
	}
	if err := l.empty(s, change); err != nil {
		return limitError(err)
	}
	err = a.change(ctx, l, a.wide(l, apply, how.dry), s, change, where, how.dry)
	if how.keep {
		err = keepInstead(err, s, change, where)
	}
	var fault *cgroup.Fault
	if errors.As(err, &fault) && how.enable == "" && slices.Contains(fault.Keys, limit.Weight) && strings.HasPrefix(fault.Fix, "echo ") {
		// The message names the file that would have to be written; the flag writes it.
		err = &exitError{exitCannot, fmt.Errorf("%w; --enable-weights does that, for all users of the disk, and limit clear undoes it", err)}
	}
	return err
}

// enabling makes disks be divided by weight before the weight is set, and puts them back if that fails.
func (a *app) enabling(l *limiter, by string) applier {
	if by == enableAuto {
		by = ""
	}
	return func(ctx context.Context, s *hold.Scope, change limit.Change) ([]hold.Done, error) {
		w := l.Weights(a.machine())
		on, undo, err := w.Enable(ctx, s, by)
		if err != nil {
			return nil, err
		}
		done, err := l.Apply(ctx, s, change)
		if err != nil {
			return nil, errors.Join(err, undo(context.WithoutCancel(ctx)))
		}
		for _, e := range on {
			s.Notes = append(s.Notes, e.String()+", for all its users; plimsoll limit clear puts that back")
		}
		return done, nil
	}
}

// noting makes a change, and notes what was set for limit show. The limits are set, also where that can't be noted.
func (a *app) noting(l *limiter, apply applier) applier {
	return func(ctx context.Context, s *hold.Scope, change limit.Change) ([]hold.Done, error) {
		done, err := apply(ctx, s, change)
		if err != nil {
			return done, err
		}
		if bad := l.Settings(a.machine()).Note(context.WithoutCancel(ctx), s, change); bad != nil {
			s.Notes = append(s.Notes, fmt.Sprintf("plimsoll limit show won't know who set it: %v", bad))
		}
		return done, nil
	}
}

// disabling makes a change, and puts disks back that were divided by weight for one that it has removed.
func (a *app) disabling(l *limiter, apply applier) applier {
	return func(ctx context.Context, s *hold.Scope, change limit.Change) ([]hold.Done, error) {
		done, err := apply(ctx, s, change)
		if err != nil || !change.Touches(limit.Weight) {
			return done, err
		}
		off, err := l.Weights(a.machine()).Undo(ctx, s)
		for _, e := range off {
			s.Notes = append(s.Notes, fmt.Sprintf("%s is not divided by weight any more: %s has its old value again", e.Disk, e.Edits[0].File))
		}
		return done, err
	}
}

// An applier makes a change, or only plans it.
type applier func(context.Context, *hold.Scope, limit.Change) ([]hold.Done, error)
