package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/measure/ceiling"
	"plimsoll/internal/state/paths"
	"plimsoll/internal/text/jsonlist"
)

// targetHelp says what TARGET may be.
const targetHelp = `TARGET is a container of Docker, Podman, containerd, CRI-O or of runc or crun alone, by name
or id (docker:web where two engines have a web), or pid:N, cgroup:PATH,
unit:NAME.service or volume:NAME.`

// limitCommand groups the commands about limits.
func (a *app) limitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "limit",
		Short: "Hold containers to limits, and prove that they hold",
		Long: `Limit sets, shows and clears the limits of a container, process, group, unit or volume,
on any engine and on control groups of version 1 and 2. It also proves by measuring
whether they hold.

A limit on I/O needs a device. Limit finds it from the container's own paths and volumes: it is
the device right under the file system. Which I/O a limit really holds depends on the disk, the
file system, the way of writing and the version of the control groups: "explain" predicts it,
"verify" proves it.`,
		Example: `  plimsoll limit explain /var/lib/docker
  plimsoll limit set web --write-bps 10MiB
  plimsoll limit show web
  plimsoll limit verify web
  plimsoll limit clear web`,
		Args: needsSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.limitSetCommand(), a.limitShowCommand(), a.limitClearCommand(), a.limitVerifyCommand(), a.limitExplainCommand(), a.limitCostCommand(), a.limitHookCommand())
	return cmd
}

// limitWhere holds the flags that say what a limit is for.
type limitWhere struct {
	hold.Where
	all, json bool
	// run is the daemon's folder, for asking it what it holds.
	run string
}

// registerRun adds the flag for the daemon's folder, for commands whose changes a daemon may undo.
func (w *limitWhere) registerRun(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.run, "run", paths.Daemon(), "folder of the daemon, to ask whether it holds the target too")
	notEmpty(cmd, "run")
}

// register adds the flags to cmd.
func (w *limitWhere) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&w.Volume, "volume", "", "only for this volume of the container")
	f.StringVar(&w.Path, "path", "", "only for the file system of this path: of the container or process; for cgroup:PATH, of the host")
	f.StringVar(&w.Device, "device", "", "only for this block device of the host (/dev/sda)")
	f.BoolVar(&w.all, "all", false, "for the container's own layer and everything mounted into it (the default)")
	f.BoolVar(&w.DeviceWide, "device-wide", false, "also for everything that the kernel writes back to the device, for other programs too (control groups of version 1)")
	f.BoolVar(&w.json, "json", false, "print JSON")
	notEmpty(cmd, "volume", "path", "device")
	cmd.MarkFlagsMutuallyExclusive("volume", "path", "device", "all")
}

// newHolder returns the Holder of this machine. Its Finder must be closed.
func (a *app) newHolder() (*hold.Holder, error) {
	if err := paths.Old(a.stateDir, a.machine()); err != nil {
		return nil, err
	}
	opt := target.Host(a.env)
	if a.targets != nil {
		opt = *a.targets
	}
	h, err := hold.New(device.Host(), target.New(opt))
	if errors.Is(err, errors.ErrUnsupported) {
		err = fmt.Errorf("limits can be set only on Linux: %w", err)
	}
	return h, err
}

// resolved converts percentages to numbers.
func (a *app) resolved(ask limit.Ask, s *hold.Scope) (limit.Change, error) {
	return ceiling.Resolve(a.stateDir, ask, s)
}

// ceilings returns the highest rates that were measured on a device.
func (a *app) ceilings(name string) (limit.Limits, error) { return ceiling.Named(a.stateDir, name) }

// limitFlags registers an option for each kind of limit, or for those in keys, and returns a function that reads them.
func limitFlags(cmd *cobra.Command, keys ...limit.Key) func() (limit.Ask, error) {
	if len(keys) == 0 {
		keys = limit.Keys
	}
	uses := map[limit.Key]string{
		limit.ReadBPS:   "bytes read a second: 10MiB, or 25% of the measured rate, or none",
		limit.WriteBPS:  "bytes written a second",
		limit.ReadIOPS:  "reads a second",
		limit.WriteIOPS: "writes a second",
		limit.Weight:    "share of a busy disk, 1 to 10000 (100 is normal)",
		limit.Latency:   "target for the mean time of an I/O: 5ms; while it is missed, groups with higher targets are slowed down",
		limit.Memory:    "memory with the page cache: 4GiB",
		limit.CPUs:      "number of CPUs: 1.5",
		limit.CPUShares: "share of busy CPUs (1024 is normal)",
	}
	values := map[limit.Key]*string{}
	for _, k := range keys {
		values[k] = cmd.Flags().String(strings.TrimPrefix(k.Flag(), "--"), "", uses[k])
	}
	return func() (limit.Ask, error) {
		var ask limit.Ask
		for _, k := range keys {
			if !cmd.Flags().Changed(strings.TrimPrefix(k.Flag(), "--")) {
				continue
			}
			if err := ask.Set(k, *values[k]); err != nil {
				return ask, usageError("%w", err)
			}
		}
		return ask, nil
	}
}

// print prints a result, as text or JSON.
func (a *app) print(result interface{ Text() string }, asJSON bool) error {
	if asJSON {
		return a.printJSON(jsonlist.Of(result))
	}
	_, err := io.WriteString(a.stdout, result.Text())
	return err
}
