package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/clean"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/weight"
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
		Long: `Set sets limits at once, and leaves those that aren't named as they are. "none" removes
one. All are set or none: what was there before is put back if the kernel
refuses one.

` + targetHelp + `

Limits on I/O are for the container's own layer and all that is mounted into it,
unless --volume, --path or --device says less. A percentage is of what the device was
measured to carry ("plimsoll run" keeps that).

A container that is started again begins without these limits, unless --keep has its engine store
them: Docker does (limits of devices from version 29.6), and Podman from version 5.

A weight does nothing unless bfq schedules the disk or iocost is enabled for it, and is refused.
--enable-weights changes that, for all who use the disk; clear puts it back when the last
weight for which it was done has gone.

On control groups of version 1 a container's buffered writes are written back by the kernel, in the
root group. A volume with a device of its own is therefore limited there too, and
--device-wide does it for any device.

Exit status: 0; 1 if a limit was refused; 2 for wrong usage; 5 if it can't be had here.`,
		Example: `  plimsoll limit set web --write-bps 10MiB --write-iops 500
  plimsoll limit set web --volume data --read-bps 25%
  plimsoll limit set volume:data --write-bps 10MiB
  plimsoll limit set web --cpus 1.5 --memory 4GiB
  plimsoll limit set web --write-bps none`,
		Args: exactly(1, "TARGET"),
	}
	read := limitFlags(cmd)
	where.register(cmd)
	f := cmd.Flags()
	f.BoolVar(&how.dry, "dry-run", false, "say what would be written, and write nothing")
	f.BoolVar(&how.keep, "keep", false, "have the engine store it too, for the container's next start (Docker; Podman 5)")
	f.StringVar(&how.enable, "enable-weights", "", "with --weight: make the disk be divided by weight, for all who use it: bfq, iocost or auto")
	f.Lookup("enable-weights").NoOptDefVal = enableAuto
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

// limitSet sets what was asked for.
func (a *app) limitSet(ctx context.Context, name string, where limitWhere, ask limit.Ask, how limitHow) error {
	l, err := a.newLimiter()
	if err != nil {
		return err
	}
	defer l.Close()
	s, err := l.scope(ctx, name, where, asksIO(ask))
	if err != nil {
		return err
	}
	change, err := a.resolveLimits(ask, s)
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
	return a.change(ctx, apply, s, change, how.dry, where.json)
}

// enabling makes disks be divided by weight before the weight is set, and puts them back if that fails.
func (a *app) enabling(l *limiter, by string) applier {
	if by == enableAuto {
		by = ""
	}
	return func(ctx context.Context, s *hold.Scope, change limit.Change) ([]hold.Done, error) {
		w := l.Weights(a.stateDir)
		on, err := w.Enable(ctx, s, by)
		if err != nil {
			return nil, err
		}
		done, err := l.Apply(ctx, s, change)
		if err != nil {
			_, undo := w.Undo(context.WithoutCancel(ctx), s)
			return nil, errors.Join(err, undo)
		}
		for _, e := range on {
			s.Notes = append(s.Notes, e.String()+", for all who use it; plimsoll limit clear puts that back")
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
		off, err := l.Weights(a.stateDir).Undo(ctx, s)
		for _, e := range off {
			s.Notes = append(s.Notes, fmt.Sprintf("%s is no more divided by weight: %s was put back as it was", e.Disk, e.Edits[0].File))
		}
		return done, err
	}
}

// An applier makes a change, or only plans it.
type applier func(context.Context, *hold.Scope, limit.Change) ([]hold.Done, error)

// change makes a change and tells of it.
func (a *app) change(ctx context.Context, apply applier, s *hold.Scope, change limit.Change, dry, asJSON bool) error {
	done, err := apply(ctx, s, change)
	if err != nil {
		return limitError(err)
	}
	if asJSON {
		return a.printJSON(limitResult{DryRun: dry, Scope: s, Set: change.Set, Remove: change.Remove, Done: done, Implied: implied(s, change)})
	}
	a.tellChange(s, change, done, dry)
	return nil
}

// A limitResult is what set and clear print with --json.
type limitResult struct {
	DryRun bool `json:"dry_run,omitempty"`
	*hold.Scope
	Set     limit.Limits    `json:"set"`
	Remove  []limit.Key     `json:"remove,omitempty"`
	Done    []hold.Done     `json:"done"`
	Implied []limit.Implied `json:"implied,omitempty"`
}

// implied says what the rates of a change mean in the other unit.
func implied(s *hold.Scope, change limit.Change) []limit.Implied {
	maxIO := int64(0)
	for _, d := range s.Devices() {
		maxIO = max(maxIO, d.MaxIO)
	}
	return change.Set.Implied(impliedSizes, maxIO)
}

// tellChange prints what was changed.
func (a *app) tellChange(s *hold.Scope, change limit.Change, done []hold.Done, dry bool) {
	verb := "set"
	if dry {
		verb = "would write"
	}
	say := func(format string, args ...any) {
		fmt.Fprintln(a.stdout, clean.Text(fmt.Sprintf(format, args...)))
	}
	for _, d := range done {
		switch {
		case dry && !d.Changes():
			say("%s: nothing to write", d.Part.Name)
		case dry:
			say("%s: would write", d.Part.Name)
			for _, p := range d.Properties {
				say("  %s to the unit %s", p, d.Part.Unit)
			}
			for _, e := range d.Diff.Edits {
				say("  %s", e)
			}
		case !d.Changes():
			say("%s: as wanted already", d.Part.Name)
		case change.Set.IsZero():
			say("%s: cleared", d.Part.Name)
		default:
			say("%s: %s %s", d.Part.Name, verb, change.Set)
		}
		if len(d.Properties) > 0 && !dry {
			say("  by systemd too, for the unit %s: a daemon-reload leaves them", d.Part.Unit)
		}
		if d.Kept != "" {
			say("  stored by %s for the next start", d.Kept)
		}
		if len(d.Forgot) > 0 {
			say("  the engine has forgotten %s; until the next start its runtime remembers, and an update of the container would set it again", strings.Join(d.Forgot, ", "))
		}
		for _, n := range slices.Concat(d.Diff.Notes, d.Notes) {
			say("  note: %s", n)
		}
		if d.Stored != nil {
			say("  note: %s", d.Stored)
		}
	}
	for _, g := range s.Grounds {
		for _, d := range g.Explanation.Hard {
			say("%s: on %s (%s)", g.Name, d.Name, d.Number())
		}
	}
	for _, i := range implied(s, change) {
		say("%s", i)
	}
	for _, n := range s.Notes {
		say("note: %s", n)
	}
	if change.Set.IO() && !dry {
		say("prove it: plimsoll limit verify %s", s.Target.Ref())
	}
}

// limitClearCommand removes limits.
func (a *app) limitClearCommand() *cobra.Command {
	var where limitWhere
	var keys []string
	var dry bool
	cmd := &cobra.Command{
		Use:   "clear TARGET",
		Short: "Remove limits",
		Long: `Clear removes all limits of a target from the kernel, whoever set them, or those that --only
names; with --volume, --path or --device those on I/O alone, and only there.

What systemd knows as a unit's, or what the engine has stored for the container's next
start, is removed as well. Docker takes limits of devices back (from version 29.6), and no
others; Podman takes none back: what is left is told.

` + targetHelp,
		Example: `  plimsoll limit clear web
  plimsoll limit clear web --only write_bps,write_iops`,
		Args: exactly(1, "TARGET"),
	}
	where.register(cmd)
	cmd.Flags().StringSliceVar(&keys, "only", nil, "remove only these, such as write_bps")
	notEmpty(cmd, "only")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would be written, and write nothing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var only []limit.Key
		for _, s := range keys {
			k, err := limit.ParseKey(s)
			if err != nil {
				return &exitError{exitUsage, err}
			}
			only = append(only, k)
		}
		l, err := a.newLimiter()
		if err != nil {
			return err
		}
		defer l.Close()
		// Limits of all devices are removed, unless some are named; a volume's are those of its device.
		named := where.Volume != "" || where.Path != "" || where.Device != "" || isVolume(args[0])
		if named && len(only) == 0 {
			for _, k := range limit.Keys {
				if k.IO() {
					only = append(only, k)
				}
			}
		}
		s, err := l.scope(cmd.Context(), args[0], where, named)
		if err != nil {
			return err
		}
		apply := a.disabling(l, l.Apply)
		if dry {
			apply = l.Plan
		}
		return a.change(cmd.Context(), apply, s, limit.Clear(only...), dry, where.json)
	}
	return cmd
}
