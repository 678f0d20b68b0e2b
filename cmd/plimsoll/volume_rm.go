package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"plimsoll/internal/provide/volume"
)

func (a *app) volumeRmCommand() *cobra.Command {
	var now bool
	cmd := &cobra.Command{
		Use:   "rm NAME...",
		Short: "Remove volumes; their data stays for a day",
		Long: fmt.Sprintf(`Remove volumes that nobody uses. Their data stays for %d hours, in which
'plimsoll volume restore' brings a volume back. --now deletes it at once.`, int(volume.DefaultKeep.Hours())),
		Example: `  plimsoll volume rm logs
  plimsoll volume rm logs --now`,
		ValidArgsFunction: a.completeVolume,
		Args:              atLeast(1, "the name of a volume at least"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.volumes()
			if err != nil {
				return err
			}
			var errs []error
			for _, name := range args {
				if err := s.Remove(cmd.Context(), name, now); err != nil {
					errs = append(errs, volumeError(err))
					continue
				}
				_, err := fmt.Fprintf(a.stdout, "volume %s is removed\n", name)
				errs = append(errs, err)
			}
			_, err = s.Empty(cmd.Context(), false)
			return errors.Join(append(errs, err)...)
		},
	}
	cmd.Flags().BoolVar(&now, "now", false, "delete the data at once")
	return cmd
}

func (a *app) volumeRestoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore NAME|ID",
		Short: "Bring back a removed volume",
		Long:  "Bring back a removed volume with its data: the latest of that name, or the one of that id ('plimsoll volume ls --removed').",
		Example: `  plimsoll volume ls --removed
  plimsoll volume restore logs`,
		Args: exactly(1, "the name or the id of a removed volume"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.volumes()
			if err != nil {
				return err
			}
			v, err := s.Restore(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "volume %s is back\n", v.Name)
			return err
		},
	}
	return cmd
}

func (a *app) volumeMountCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mount NAME",
		Short: "Mount a volume, and print where its data is",
		Long: `Mount a volume on its own folder, and print that folder. It stays mounted until
'plimsoll volume unmount', also without containers.`,
		Example:           "  ls $(plimsoll volume mount db)",
		ValidArgsFunction: a.completeVolume,
		Args:              exactly(1, "the name of a volume"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.volumes()
			if err != nil {
				return err
			}
			m, err := s.Mount(cmd.Context(), args[0], volume.ByHand)
			if err != nil {
				return volumeError(err)
			}
			if m.Note != "" {
				fmt.Fprintln(a.stderr, m.Note)
			}
			_, err = fmt.Fprintln(a.stdout, m.Root)
			return err
		},
	}
	return cmd
}

func (a *app) volumeUnmountCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:               "unmount NAME",
		Short:             "End a 'plimsoll volume mount'",
		Long:              "End a 'plimsoll volume mount'. The volume stays mounted while containers use it.",
		Example:           "  plimsoll volume unmount db",
		ValidArgsFunction: a.completeVolume,
		Args:              exactly(1, "the name of a volume"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.volumes()
			if err != nil {
				return err
			}
			if _, err := s.Get(args[0]); err != nil {
				return volumeError(err)
			}
			return volumeError(s.Unmount(cmd.Context(), args[0], volume.ByHand))
		},
	}
	return cmd
}
