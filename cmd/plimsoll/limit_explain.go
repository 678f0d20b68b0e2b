package main

import (
	"context"

	"github.com/spf13/cobra"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/show"
)

// limitExplainCommand is "plimsoll limit explain".
func (a *app) limitExplainCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "explain PATH|DEVICE|TARGET...",
		Short: "Show the devices under a path, device, container or volume, and where its limits go",
		Long: `Explain shows the devices under a path, from the mount down to the disks, and says

  - which device a limit of bandwidth or IOPS goes on, and which disk a weight;
  - which ways to read and write such a limit holds, and which it lets through;
  - on which layers the kernel charges a container's I/O to no group, and why;
  - what to do instead, where no limit can be set.

A name that is no path is a TARGET: explain shows a container's own layer and everything mounted
into it, or a volume's folder.

` + targetHelp + `

If several paths are given, it shows which of them share a disk. It changes nothing and doesn't need root;
without root it can't see what device mapper devices are made of.

Exit status: 0 done; 1 there is no such TARGET; 2 a path doesn't exist; 5 one of them can't be limited here.`,
		Example: `  plimsoll limit explain /var/lib/docker
  plimsoll limit explain / /var
  plimsoll limit explain web
  plimsoll limit explain volume:data
  plimsoll limit explain / --json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("name a path, a device, a container or a volume (volume:NAME): see '%s --help'", cmd.CommandPath())
			}
			return a.limitExplain(cmd.Context(), args, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// limitExplain explains paths and targets. Once all are printed, it refuses those that can't be limited.
func (a *app) limitExplain(ctx context.Context, names []string, asJSON bool) error {
	out, err := show.Explain(ctx, device.Host(), names, a.newHolder)
	if err != nil {
		return err
	}
	if err := a.print(out, asJSON); err != nil {
		return err
	}
	return out.Refused()
}
