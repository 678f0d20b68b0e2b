package main

import (
	"errors"

	"github.com/spf13/cobra"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/change"
)

// limitClearCommand removes limits.
func (a *app) limitClearCommand() *cobra.Command {
	var where limitWhere
	var keys []string
	var how change.Options
	cmd := &cobra.Command{
		Use:   "clear [TARGET]",
		Short: "Remove limits",
		Long: `Clear removes all limits of a target from the kernel, whichever program set them, or only those that
--only names. With --volume, --path or --device it removes only limits on I/O, and only there.

It also removes the limits that systemd has for a unit, and those that the engine has stored for the
container's next start. Docker can remove stored limits of devices (from version 29.6) and no others, Podman
none: clear prints those that are left.

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
	cmd.Flags().BoolVar(&how.Dry, "dry-run", false, "print the writes and make none of them")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		how.Only = nil
		for _, s := range keys {
			k, err := limit.ParseKey(s)
			if err != nil {
				return usageError("%w", err)
			}
			how.Only = append(how.Only, k)
		}
		if len(args) == 0 && (where.Volume != "" || where.Path != "") {
			return usageError("--volume and --path need a target: name one, or a device with --device")
		}
		how.Where = where.Where
		return a.changeLimits(args, where, func(m *change.Maker, ref target.Ref) (*change.Result, error) {
			if len(args) == 0 {
				return m.ClearAllDeviceLimits(cmd.Context(), how)
			}
			return m.Clear(cmd.Context(), ref, how)
		})
	}
	return cmd
}

// targetOr returns the check of the arguments of a command that takes either a TARGET or the flag.
func targetOr(flag string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && cmd.Flags().Changed(flag) {
			return nil
		}
		return exactly(1, "TARGET, or --"+flag)(cmd, args)
	}
}

// changeLimits changes the limits of a target, or of none, and prints the result.
func (a *app) changeLimits(args []string, where limitWhere, do func(*change.Maker, target.Ref) (*change.Result, error)) (err error) {
	var ref target.Ref
	if len(args) > 0 {
		if ref, err = parseTarget(args[0]); err != nil {
			return err
		}
	}
	l, err := a.newHolder()
	if err != nil {
		return err
	}
	defer l.Finder.Close()
	m := &change.Maker{Holder: l, Machine: a.machine(), Run: where.run, Policy: defaultPolicy, Flags: a.stateFlag(), Daemon: daemonState(where.run)}
	r, err := do(m, ref)
	if err != nil {
		return err
	}
	return errors.Join(a.print(r, where.json), r.Unknown())
}
