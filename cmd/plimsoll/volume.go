package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/provide/profile"
	"plimsoll/internal/provide/volume"
	"plimsoll/internal/text/size"
)

// volumeCommand is "plimsoll volume".
func (a *app) volumeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "volume",
		Short: "Make, mount, change and remove volumes",
		Long: `A volume keeps what its profile promises: its capacity exactly, its limits at its own
device. With 'plimsoll daemon --volumes' Docker and Podman use volumes by -d plimsoll;
these commands and the daemon work on the same ones.`,
		Example: `  plimsoll volume create db --profile POSTGRES
  plimsoll volume create logs -o capacity=2GB -o iops.max=500
  plimsoll volume ls
  docker volume create -d plimsoll -o capacity=20GB data`,
		Args: needsSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.volumeLsCommand(), a.volumeInspectCommand(), a.volumeCreateCommand(), a.volumeUpdateCommand(), a.volumeRmCommand(), a.volumeRestoreCommand(), a.volumeMountCommand(), a.volumeUnmountCommand(), a.volumeSnapshotCommand(),
		a.volumeBackupCommand(), a.volumeExportCommand(), a.volumeImportCommand(), a.volumeMigrateCommand(), a.volumeReplicateCommand(), a.volumeReceiveCommand())
	return cmd
}

// volumes are those of the state folder.
func (a *app) volumes() (*volume.Volumes, error) {
	state, err := filepath.Abs(a.stateDir)
	if err != nil {
		return nil, err
	}
	s := volume.New(state)
	s.Records, s.Machine = a.machine(), profile.Host{Ceiling: a.diskIOPS}
	return s, nil
}

// diskIOPS is what a disk was measured to carry in I/Os per second, whether they read or write; 0 if it wasn't.
func (a *app) diskIOPS(disk string) (int64, error) {
	l, err := a.ceilings(disk)
	if l.ReadIOPS == 0 || l.WriteIOPS == 0 {
		return max(l.ReadIOPS, l.WriteIOPS), err
	}
	return min(l.ReadIOPS, l.WriteIOPS), err
}

// aVolume is a volume in JSON and in lists.
type aVolume struct {
	volume.Volume
	// Root is where its data is, "" if it isn't mounted.
	Root string `json:"root"`
	// Space is what it takes, and holds while it is mounted.
	Space    volume.Space      `json:"space"`
	Mounts   []volume.Use      `json:"mounts"`
	Promises map[string]string `json:"promises,omitempty"`
	// Note says what isn't as the profile promises since it was mounted.
	Note string `json:"note,omitempty"`
	// Error says what is wrong with its data.
	Error string `json:"error,omitempty"`
}

// look describes a volume. Damaged data is described, not an error.
func look(s *volume.Volumes, v volume.Volume) aVolume {
	out := aVolume{Volume: v, Mounts: []volume.Use{}}
	var err error
	if out.Root, err = s.Root(v); err == nil {
		out.Space, err = s.Space(v)
	}
	out.Note, _ = s.Note(v.Name) // Users has its error.
	if users, bad := s.Users(v.Name); bad != nil {
		err = bad
	} else if users != nil {
		out.Mounts = users
	}
	if err != nil {
		out.Error = err.Error()
	}
	return out
}

// used is a volume's use of its space, for people.
func (v aVolume) used() string {
	switch {
	case v.Error != "":
		return "DAMAGED"
	case v.Space.Size > 0:
		return fmt.Sprintf("%s (%d %%)", size.Bytes(v.Space.Used), v.Space.Used*100/v.Space.Size)
	}
	return "-"
}

// volumeOptions are the flags of create and update.
type volumeOptions struct {
	profile, backend, capacity string
	iopsMax, bandwidthMax      string
	options                    []string
}

// register adds the flags of keys that volumes are often changed by.
func (o *volumeOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.capacity, "capacity", "", "how much it holds, such as 20GB")
	f.StringVar(&o.iopsMax, "iops-max", "", "I/Os per second that it may do, or none")
	f.StringVar(&o.bandwidthMax, "bandwidth-max", "", "bytes per second that it may read and write, such as 50MB, or none")
	f.StringArrayVarP(&o.options, "opt", "o", nil, optionsHelp)
	notEmpty(cmd, "capacity", "iops-max", "bandwidth-max")
}

// all are the options by name. Several ways to give one are allowed as long as each option is given once.
func (o volumeOptions) all() (map[string]string, error) {
	out := map[string]string{}
	add := func(k, v string) error {
		if _, twice := out[k]; twice {
			return usageError("%s is given twice", k)
		}
		out[k] = v
		return nil
	}
	for _, kv := range o.options {
		k, v, ok := strings.Cut(kv, "=")
		if !ok {
			return nil, usageError("-o %s: give KEY=VALUE", kv)
		}
		if err := add(k, v); err != nil {
			return nil, err
		}
	}
	for k, v := range maps.All(map[string]string{"profile": o.profile, "backend": o.backend, "capacity": o.capacity, "iops.max": o.iopsMax, "bandwidth.max": o.bandwidthMax}) {
		if v == "" {
			continue
		}
		if err := add(k, v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// completeVolume offers the volumes.
func (a *app) completeVolume(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s, err := a.volumes()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, _ := s.List() // Offer what can be read.
	var names []cobra.Completion
	for _, v := range list {
		names = append(names, v.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
