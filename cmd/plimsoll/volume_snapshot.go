package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/provide/volume"
	"plimsoll/internal/provide/volume/image"
	"plimsoll/internal/text/layout"
	"plimsoll/internal/text/size"
)

// copyHelp explains --copy.
const copyHelp = "copy all data where the disk can't share it; the volume can't be written to meanwhile"

func (a *app) volumeSnapshotCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "snapshot",
		Short: "Take, restore and clone snapshots of volumes",
		Long: `A snapshot is a volume's data at one time. It is taken at once, whatever the volume's
size: btrfs takes it in the volume, and xfs and btrfs below the volume share its blocks.
The profile's service.snapshot takes them at intervals, in 'plimsoll daemon --volumes'.`,
		Example: `  plimsoll volume snapshot create db
  plimsoll volume snapshot ls db
  plimsoll volume snapshot restore db 20260131-235900`,
		Args: needsSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.snapshotCreateCommand(), a.snapshotLsCommand(), a.snapshotRmCommand(), a.snapshotRestoreCommand(), a.snapshotCloneCommand(), a.snapshotHooksCommand())
	return cmd
}

// hookFlags adds the flags of hooks.
func hookFlags(cmd *cobra.Command, h *volume.Hooks) {
	cmd.Flags().StringVar(&h.Before, "before", "", "a command of the shell that runs before; if it fails, no snapshot is taken")
	cmd.Flags().StringVar(&h.After, "after", "", "a command of the shell that runs after, in any case")
	cmd.Flags().DurationVar(&h.Timeout, "timeout", volume.HookTimeout, "how long each of them may run")
}

// hooks are the flags' if a hook is among them.
func hooksAsked(h volume.Hooks) (volume.Hooks, error) {
	if h.Timeout <= 0 {
		return h, usageError("--timeout %v: give a time such as 30s", h.Timeout)
	}
	if h.Before+h.After == "" {
		return volume.Hooks{}, nil
	}
	return h, nil
}

func (a *app) snapshotCreateCommand() *cobra.Command {
	var o volume.SnapshotOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "create VOLUME",
		Short: "Take a snapshot of a volume, mounted or not",
		Long: `Take a snapshot of a volume, mounted or not. Writes wait meanwhile, for some
milliseconds, and everything that was written before is in it. --before and --after run
instead of the volume's own hooks ('plimsoll volume snapshot hooks').`,
		Example: `  plimsoll volume snapshot create db --description 'before the upgrade'
  plimsoll volume snapshot create db --before 'docker exec db redis-cli save'`,
		ValidArgsFunction: a.completeVolume,
		Args:              exactly(1, "the name of a volume"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.Hooks, err = hooksAsked(o.Hooks); err != nil {
				return err
			}
			s, err := a.volumes()
			if err != nil {
				return err
			}
			p, err := s.Snapshot(cmd.Context(), args[0], o)
			if p.Phase == "" || err != nil && p.ID == "" {
				return volumeError(err)
			}
			if asJSON {
				return errors.Join(a.printJSON(p), err)
			}
			if err == nil {
				_, err = fmt.Fprintf(a.stdout, "snapshot %s of volume %s is taken\n", p.ID, args[0])
			}
			return volumeError(err)
		},
	}
	cmd.Flags().StringVar(&o.Description, "description", "", "what it is for")
	cmd.Flags().BoolVar(&o.Copy, "copy", false, copyHelp)
	hookFlags(cmd, &o.Hooks)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// aSnapshot is a snapshot in JSON and in lists.
type aSnapshot struct {
	volume.Snapshot
	Volume string `json:"volume"`
	// Own is what its removal frees, in bytes; null if that isn't known.
	Own *int64 `json:"own"`
}

func (a *app) snapshotLsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls [VOLUME]",
		Short: "List the snapshots of a volume, or of all",
		Long: `List the snapshots of a volume, or of all volumes, the oldest first. OWN is what the
removal of a snapshot would free; for a volume with btrfs it isn't known.`,
		Example: `  plimsoll volume snapshot ls db`,

		ValidArgsFunction: a.completeVolume,
		Args:              atMost(1, "the name of a volume"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := a.volumes()
			if err != nil {
				return err
			}
			list, err := s.List()
			if len(args) > 0 {
				v, bad := s.Get(args[0])
				if bad != nil {
					return volumeError(bad)
				}
				list = []volume.Volume{v}
			}
			return errors.Join(a.printSnapshots(s, list, asJSON), err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) printSnapshots(s *volume.Volumes, list []volume.Volume, asJSON bool) error {
	all := []aSnapshot{}
	table := layout.Table{Head: []string{"VOLUME", "ID", "TAKEN", "BY", "CAPACITY", "OWN", "DESCRIPTION"}}
	for _, v := range list {
		for _, p := range v.Snapshots {
			out, own, by := aSnapshot{Snapshot: p, Volume: v.Name}, "-", "hand"
			if n, known := s.SnapshotSize(v, p); known {
				out.Own, own = &n, size.Bytes(n)
			}
			if p.Scheduled {
				by = "schedule"
			}
			if p.Phase != volume.Ready {
				by = string(p.Phase)
			}
			all = append(all, out)
			table.Add(v.Name, p.ID, p.Taken.Local().Format("2006-01-02 15:04:05"), by, size.Bytes(p.Capacity), own, p.Description)
		}
	}
	if asJSON {
		return a.printJSON(all)
	}
	return a.printTable(table)
}

func (a *app) snapshotRmCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "rm VOLUME ID...",
		Short:             "Remove snapshots of a volume",
		Long:              "Remove snapshots of a volume at once. There is no trash for them.",
		Example:           "  plimsoll volume snapshot rm db 20260131-235900",
		ValidArgsFunction: a.completeSnapshot,
		Args:              atLeast(2, "the name of a volume and the ids of its snapshots"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.volumes()
			if err != nil {
				return err
			}
			var errs []error
			for _, id := range args[1:] {
				if err := s.RemoveSnapshot(cmd.Context(), args[0], id); err != nil {
					errs = append(errs, volumeError(err))
					continue
				}
				_, err := fmt.Fprintf(a.stdout, "snapshot %s of volume %s is removed\n", id, args[0])
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		},
	}
}

func (a *app) snapshotRestoreCommand() *cobra.Command {
	var discard bool
	cmd := &cobra.Command{
		Use:   "restore VOLUME ID",
		Short: "Give a volume the data of a snapshot",
		Long: `Give a volume that nobody uses the data of one of its snapshots. The state before
is kept as another snapshot, unless --discard is given.`,
		Example:           "  plimsoll volume snapshot restore db 20260131-235900",
		ValidArgsFunction: a.completeSnapshot,
		Args:              exactly(2, "the name of a volume and the id of a snapshot"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.volumes()
			if err != nil {
				return err
			}
			before, err := s.RestoreSnapshot(cmd.Context(), args[0], args[1], discard)
			if err != nil {
				return volumeError(err)
			}
			kept := ""
			if !discard {
				kept = "; the state before is snapshot " + before.ID
			}
			_, err = fmt.Fprintf(a.stdout, "volume %s has the data of snapshot %s%s\n", args[0], args[1], kept)
			return err
		},
	}
	cmd.Flags().BoolVar(&discard, "discard", false, "don't keep the state before")
	return cmd
}

func (a *app) snapshotCloneCommand() *cobra.Command {
	var o image.SnapshotOptions
	cmd := &cobra.Command{
		Use:   "clone VOLUME ID NEW",
		Short: "Make a new volume from a snapshot",
		Long: `Make a new volume from a snapshot, with the same profile. Both can be used at once, and
share their data on the disk until one of them changes it.`,
		Example:           "  plimsoll volume snapshot clone db 20260131-235900 db-test",
		ValidArgsFunction: a.completeSnapshot,
		Args:              exactly(3, "the name of a volume, the id of a snapshot and the name of the new volume"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.volumes()
			if err != nil {
				return err
			}
			v, err := s.CloneSnapshot(cmd.Context(), args[0], args[1], args[2], o)
			if err != nil {
				return volumeError(err)
			}
			_, err = fmt.Fprintf(a.stdout, "volume %s is made from snapshot %s of %s\n", v.Name, args[1], args[0])
			return err
		},
	}
	cmd.Flags().BoolVar(&o.Copy, "copy", false, copyHelp)
	return cmd
}

func (a *app) snapshotHooksCommand() *cobra.Command {
	var h volume.Hooks
	cmd := &cobra.Command{
		Use:   "hooks VOLUME",
		Short: "Set the commands that run before and after each snapshot of a volume",
		Long: `Set the commands of the shell that run as this user before and after each snapshot of a
volume, also those of the schedule; without flags there are none. They get the volume's
name as PLIMSOLL_VOLUME. A command before that fails stops the snapshot. The one after
runs in any case.`,
		Example: `  plimsoll volume snapshot hooks db --before 'docker exec db redis-cli save'
  plimsoll volume snapshot hooks db`,
		ValidArgsFunction: a.completeVolume,
		Args:              exactly(1, "the name of a volume"),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := hooksAsked(h)
			if err != nil {
				return err
			}
			s, err := a.volumes()
			if err != nil {
				return err
			}
			if err := s.SetHooks(cmd.Context(), args[0], h); err != nil {
				return volumeError(err)
			}
			if h == (volume.Hooks{}) {
				_, err = fmt.Fprintf(a.stdout, "volume %s has no hooks\n", args[0])
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "volume %s has hooks, of %v at most\n", args[0], h.Timeout.Round(time.Millisecond))
			return err
		},
	}
	hookFlags(cmd, &h)
	return cmd
}

// completeSnapshot offers the volumes, and then the snapshots of the volume.
func (a *app) completeSnapshot(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeVolume(cmd, args, typed)
	}
	s, err := a.volumes()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	v, _ := s.Get(args[0]) // Offer what can be read.
	var ids []cobra.Completion
	for _, p := range v.Snapshots {
		ids = append(ids, p.ID)
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
