package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"plimsoll/internal/text/size"
)

func (a *app) volumeReplicateCommand() *cobra.Command {
	var to string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "replicate NAME",
		Short: "Send a volume to another machine, by ssh",
		Long: `Send a volume to another machine with Plimsoll, by ssh: a snapshot, and of it what has
changed since the last one that the other machine has. There it is a snapshot of the
volume of that name; 'plimsoll volume snapshot restore' on that machine gives the volume
its data. ssh reads the file ssh_config of the state folder, if there is one. The
profile's service.replication does this at intervals, in 'plimsoll daemon --volumes'.`,
		Example: `  plimsoll volume replicate db
  plimsoll volume replicate db --to root@node2`,
		ValidArgsFunction: a.completeVolume,
		Args:              exactly(1, "the name of a volume"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.volumes()
			if err != nil {
				return err
			}
			r, err := s.Replicate(cmd.Context(), args[0], to)
			if err != nil {
				return volumeError(err)
			}
			if asJSON {
				return a.printJSON(map[string]any{"snapshot": r.Snapshot.ID, "to": r.To, "base": r.Base, "sent": r.Sent})
			}
			what := "all of it"
			if r.Base != "" {
				what = "what has changed since " + r.Base
			}
			_, err = fmt.Fprintf(a.stdout, "snapshot %s of volume %s is sent to %s: %s, %s\n", r.Snapshot.ID, args[0], r.To, what, size.Bytes(r.Sent))
			return err
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the other machine: HOST or USER@HOST (default: the profile's destination)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	notEmpty(cmd, "to")
	return cmd
}

func (a *app) volumeReceiveCommand() *cobra.Command {
	var list bool
	cmd := &cobra.Command{
		Use:   "receive NAME",
		Short: "Receive what another machine's 'plimsoll volume replicate' sends",
		Long: `Receive a snapshot of a volume from the standard input, as 'plimsoll volume replicate'
of another machine sends it by ssh. --list prints the ids of the volume's snapshots.`,
		Example: "  ssh node2 plimsoll volume receive db --list",
		Args:    exactly(1, "the name of a volume"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.volumes()
			if err != nil {
				return err
			}
			if list {
				ids, err := s.SnapshotIDs(args[0])
				if err != nil {
					return err
				}
				return a.printJSON(ids)
			}
			p, err := s.Receive(cmd.Context(), args[0], a.stdin)
			if err != nil {
				return volumeError(err)
			}
			_, err = fmt.Fprintf(a.stdout, "snapshot %s of volume %s is received\n", p.ID, args[0])
			return err
		},
	}
	cmd.Flags().BoolVar(&list, "list", false, "print the ids of the volume's snapshots as JSON")
	return cmd
}
