package main

import (
	"slices"

	"github.com/spf13/cobra"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/change"
	"plimsoll/internal/limit/weight"
)

// limitSetCommand sets limits.
func (a *app) limitSetCommand() *cobra.Command {
	var where limitWhere
	var how change.Options
	cmd := &cobra.Command{
		Use:   "set TARGET",
		Short: "Set limits of a container, process, group, unit or volume",
		Long: `Set sets limits at once. Limits that aren't named stay as they are; "none" removes one.
It sets all or none: if the kernel refuses one, it restores the values from before.

` + targetHelp + `

Limits on I/O apply to the container's own layer and everything mounted into it, unless --volume,
--path or --device selects a part of these. Those of pid:N apply to the device of its /, those of cgroup:PATH
to what --path or --device names. All data on a device shares one limit; the output says so. A percentage
is of the highest rate measured on the device ("plimsoll run" records it).

A restarted container begins without these limits, unless --keep has its engine store them. Docker
does that (limits of devices from version 29.6), and Podman from version 5.1. Docker can't remove
stored limits of memory and CPUs, and Podman can't remove any: only a new container is without
them. The daemon's policy keeps limits across restarts without that.

A weight has no effect unless bfq schedules the disk or iocost is enabled for it: set refuses it.
--enable-weights enables weights on the disk, for all its users; clear undoes that when the last
weight that needed it has gone.

On control groups of version 1 the kernel writes a container's buffered writes back in the root
group. So a volume with a device of its own is limited there too, and --device-wide does that for
any device. Plimsoll records the target of such a limit: clear removes it with the target's own.

Exit status: 0 done; 1 a limit was refused; 2 wrong usage; 5 it can't be done here.`,
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
	f.BoolVar(&how.Dry, "dry-run", false, "print the writes and make none of them")
	f.BoolVar(&how.Keep, "keep", false, "let the engine store it too, for the container's next start (Docker; Podman 5.1)")
	f.StringVar(&how.Enable, "enable-weights", "", "with --weight: divide the disk by weight, for all its users: bfq, iocost or auto")
	f.Lookup("enable-weights").NoOptDefVal = change.Auto
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
		if how.Enable != "" && !ask.Limits.Has(limit.Weight) {
			return usageError("--enable-weights needs --weight: give the share, such as --weight 200")
		}
		if !slices.Contains([]string{"", change.Auto, weight.ByBFQ, weight.ByIOCost}, how.Enable) {
			return usageError("--enable-weights=%s: write %s, %s or %s", how.Enable, change.Auto, weight.ByBFQ, weight.ByIOCost)
		}
		how.Where = where.Where
		return a.changeLimits(args, where, func(m *change.Maker, ref target.Ref) (*change.Result, error) {
			return m.Set(cmd.Context(), ref, ask, a.resolved, how)
		})
	}
	return cmd
}
