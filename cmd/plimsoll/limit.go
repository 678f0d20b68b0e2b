package main

import "github.com/spf13/cobra"

// limitCommand is "plimsoll limit".
func (a *app) limitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "limit",
		Short: "Say where limits on I/O go, and what they hold",
		Long: `A limit holds a container, or all that use a device, to bandwidth, IOPS or a share
of a disk. What it really holds depends on the disk under the path, on the file
system, on the way of writing and on the version of the control groups: ask
"plimsoll limit explain" first.`,
		Example: `  plimsoll limit explain /var/lib/docker
  plimsoll limit explain / --json`,
		Args: needsSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.limitExplainCommand())
	return cmd
}
