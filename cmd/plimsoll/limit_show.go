package main

import (
	"context"

	"github.com/spf13/cobra"

	"plimsoll/internal/daemon"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/limit/show"
	"plimsoll/internal/state/paths"
)

// limitShowCommand shows the limits that a target has.
func (a *app) limitShowCommand() *cobra.Command {
	var asJSON, deviceWide bool
	var run string
	cmd := &cobra.Command{
		Use:   "show [TARGET]",
		Short: "Show the limits that the kernel holds a target to",
		Long: `Show reads the limits from the kernel, whichever program set them: a limit that it doesn't show
does not exist. On control groups of version 1 each group below the container's own has limits of its
own, and show prints those too. Below, it prints the limits of the groups above that hold the target as
well, and those that the engine has stored for the container's next start.

Without TARGET it lists the limits of all groups on the machine, and the program that set each, if known: the
daemon, limit set, a trial of plimsoll run, the engine, systemd, or another.

Beside each limit it names the target's data on that device. It also shows limits in the root group: those set
for the target (--device-wide), even after the target has gone, and those that plimsoll daemon holds or has left
there on the devices of the target's data. --device-wide without TARGET shows those of all targets.

` + targetHelp,
		Example: `  plimsoll limit show
  plimsoll limit show web
  plimsoll limit show volume:data --json
  plimsoll limit show --device-wide`,
		Args: atMost(1, "one TARGET"),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&deviceWide, "device-wide", false, "only the limits in the root group (control groups of version 1)")
	cmd.Flags().StringVar(&run, "run", paths.Daemon(), "folder of the daemon, whose limits in the root group are shown, too")
	notEmpty(cmd, "run")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		l, err := a.newHolder()
		if err != nil {
			return err
		}
		defer l.Finder.Close()
		return a.limitShow(cmd.Context(), &show.Reader{Holder: l, Machine: a.machine(), Run: run, Daemon: daemonState(run)}, args, deviceWide, asJSON)
	}
	return cmd
}

// limitShow shows the limits of a target, those of the root group, or those of the machine.
func (a *app) limitShow(ctx context.Context, r *show.Reader, args []string, deviceWide, asJSON bool) (err error) {
	var out interface{ Text() string }
	switch {
	case len(args) > 0:
		ref, bad := parseTarget(args[0])
		if bad != nil {
			return bad
		}
		out, err = r.Target(ctx, ref, deviceWide)
	case deviceWide:
		out, err = r.AllDeviceLimits()
	default:
		out, err = r.List(ctx)
	}
	if err != nil {
		return err
	}
	return a.print(out, asJSON)
}

// daemonState returns a function that asks the daemon of a folder for its state.
func daemonState(run string) func() (*keeper.Status, error) {
	return func() (*keeper.Status, error) {
		s, err := daemon.Ask(run)
		if err != nil {
			return nil, err
		}
		return &s.Status, nil
	}
}
