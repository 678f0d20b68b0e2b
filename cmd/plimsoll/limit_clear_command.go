package main

import (
	"github.com/spf13/cobra"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
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
