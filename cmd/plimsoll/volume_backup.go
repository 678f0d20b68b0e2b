package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/provide/volume"
	"plimsoll/internal/provide/volume/restic"
	"plimsoll/internal/text/layout"
	"plimsoll/internal/text/size"
)

func (a *app) volumeBackupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Back up volumes to a directory or an S3-compatible store",
		Long: `Back up volumes with restic: encrypted, and each piece of data once. The stores are in
the file backups.yaml of the state folder:

  default: {repository: /mnt/backups, password_file: /etc/plimsoll/backup-password}
  minio:
    repository: s3:https://minio.example/backups
    password_command: pass backups
    environment_file: /etc/plimsoll/s3-keys

The environment file has lines such as AWS_ACCESS_KEY_ID=KEY. The profile's
service.backup makes backups at intervals, in 'plimsoll daemon --volumes'.`,
		Example: `  plimsoll volume backup create db
  plimsoll volume backup ls
  plimsoll volume backup restore 4f3c2a10 db-again`,
		Args: needsSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.backupCreateCommand(), a.backupLsCommand(), a.backupRestoreCommand(), a.backupCheckCommand(), a.backupRmCommand())
	return cmd
}

// storeFlag adds --store.
func storeFlag(cmd *cobra.Command, store *string) {
	cmd.Flags().StringVar(store, "store", "", "the name of a store in backups.yaml (default: the only one, or default)")
	notEmpty(cmd, "store")
}

func (a *app) backupCreateCommand() *cobra.Command {
	var o volume.BackupOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "create VOLUME",
		Short: "Back up a volume, mounted or not",
		Long: `Back up a volume, mounted or not, as it is at one moment, or one of its snapshots. The
store is made if it is empty. If no snapshot of the volume can be taken, its files are
read while they may change, and the command says so.`,
		Example: `  plimsoll volume backup create db
  plimsoll volume backup create db --snapshot 20260131-235900 --store minio`,
		ValidArgsFunction: a.completeVolume,
		Args:              exactly(1, "the name of a volume"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.volumes()
			if err != nil {
				return err
			}
			b, err := s.Backup(cmd.Context(), args[0], o)
			if err != nil {
				return volumeError(err)
			}
			if b.Note != "" {
				fmt.Fprintln(a.stderr, b.Note)
			}
			if asJSON {
				return a.printJSON(map[string]any{"id": b.ID, "store": b.Store, "files": b.Files, "read": b.Read, "stored": b.Stored, "note": b.Note})
			}
			_, err = fmt.Fprintf(a.stdout, "backup %s of volume %s is in the store %s: %s read, %s stored\n", b.ID, args[0], b.Store, size.Bytes(b.Read), size.Bytes(b.Stored))
			return err
		},
	}
	storeFlag(cmd, &o.Store)
	cmd.Flags().StringVar(&o.Snapshot, "snapshot", "", "the id of a snapshot to back up")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	notEmpty(cmd, "snapshot")
	return cmd
}

// aBackup is a backup in JSON.
type aBackup struct {
	restic.Backup
	Volume    string `json:"volume"`
	Snapshot  string `json:"snapshot,omitempty"`
	Scheduled bool   `json:"scheduled"`
}

func (a *app) backupLsCommand() *cobra.Command {
	var store string
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "ls [VOLUME]",
		Short:             "List the backups in a store",
		Long:              "List the backups in a store, of one volume or of all, the oldest first.",
		Example:           "  plimsoll volume backup ls db",
		ValidArgsFunction: a.completeVolume,
		Args:              atMost(1, "the name of a volume"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.volumes()
			if err != nil {
				return err
			}
			list, err := s.Backups(cmd.Context(), store, strings.Join(args, ""))
			if err != nil {
				return err
			}
			all := []aBackup{}
			table := layout.Table{Head: []string{"ID", "VOLUME", "MADE", "BY", "HOST"}}
			for _, b := range list {
				out := aBackup{b, b.Tag("volume"), b.Tag("snapshot"), slices.Contains(b.Tags, "scheduled")}
				by := "hand"
				if out.Scheduled {
					by = "schedule"
				}
				all = append(all, out)
				table.Add(b.ID, out.Volume, b.Time.Local().Format("2006-01-02 15:04:05"), by, b.Host)
			}
			if asJSON {
				return a.printJSON(all)
			}
			return a.printTable(table)
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) backupRestoreCommand() *cobra.Command {
	var store string
	var options []string
	cmd := &cobra.Command{
		Use:   "restore ID NEW",
		Short: "Make a new volume from a backup",
		Long: `Make a new volume from a backup. Its profile is that of the volume that was backed up;
-o changes keys of it. If the command is killed, there is no new volume.`,
		Example: `  plimsoll volume backup restore 4f3c2a10 db-again
  plimsoll volume backup restore 4f3c2a10 db-again -o capacity=40GB`,
		Args: exactly(2, "the id of a backup and the name of the new volume"),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := volumeOptions{options: options}.all()
			if err != nil {
				return err
			}
			s, err := a.volumes()
			if err != nil {
				return err
			}
			v, err := s.RestoreBackup(cmd.Context(), store, args[0], args[1], all)
			if err != nil {
				return volumeError(err)
			}
			_, err = fmt.Fprintf(a.stdout, "volume %s is made from backup %s: %s\n", v.Name, args[0], v.Profile.Asked("capacity"))
			return err
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().StringArrayVarP(&options, "opt", "o", nil, optionsHelp)
	return cmd
}

func (a *app) backupCheckCommand() *cobra.Command {
	var store string
	var data bool
	cmd := &cobra.Command{
		Use:     "check",
		Short:   "Verify the backups in a store",
		Long:    "Verify that a store is whole; with --data also that each byte in it is what was stored.",
		Example: "  plimsoll volume backup check --data",
		Args:    exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.volumes()
			if err != nil {
				return err
			}
			if err := s.CheckBackups(cmd.Context(), store, data); err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.stdout, "the store is whole")
			return err
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().BoolVar(&data, "data", false, "read all data")
	return cmd
}

func (a *app) backupRmCommand() *cobra.Command {
	var store string
	cmd := &cobra.Command{
		Use:     "rm ID...",
		Short:   "Remove backups, and what no other one needs",
		Long:    "Remove backups from a store, and the data that no other backup needs.",
		Example: "  plimsoll volume backup rm 4f3c2a10",
		Args:    atLeast(1, "the ids of backups"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.volumes()
			if err != nil {
				return err
			}
			for _, id := range args {
				if err := s.RemoveBackup(cmd.Context(), store, id); err != nil {
					return err
				}
				if _, err := fmt.Fprintf(a.stdout, "backup %s is removed\n", id); err != nil {
					return err
				}
			}
			return nil
		},
	}
	storeFlag(cmd, &store)
	return cmd
}
