package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"plimsoll/internal/provide/profile"
)

// optionsHelp explains -o.
const optionsHelp = "a key of the profile with another value, as in docker volume create -o; repeat it for more"

func (a *app) volumeCreateCommand() *cobra.Command {
	var o volumeOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a volume",
		Long: `Make a volume by a profile, or by ` + profile.Default + `; -o changes keys of it. What the backend can't keep
here is refused, with status 5; 'plimsoll profile check' shows it before. If there is a
volume of that name that was made in the same way, nothing happens.`,
		Example: `  plimsoll volume create db --profile POSTGRES --capacity 40GB
  plimsoll volume create logs -o capacity=2GB -o filesystem=xfs -o iops.max=500`,
		Args: exactly(1, "a name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			options, err := o.all()
			if err != nil {
				return err
			}
			s, err := a.volumes()
			if err != nil {
				return err
			}
			where, p, err := s.Options(options)
			if err != nil {
				return err
			}
			v, made, err := s.Create(cmd.Context(), args[0], where, p)
			if err != nil {
				return volumeError(err)
			}
			if asJSON {
				return a.printJSON(look(s, v))
			}
			state := "is made"
			if !made {
				state = "exists already"
			}
			_, err = fmt.Fprintf(a.stdout, "volume %s %s: %s, profile %s, in %s\n", v.Name, state, v.Profile.Asked("capacity"), v.Profile.Name, v.Folder)
			return err
		},
	}
	createFlags(cmd, &o)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// createFlags adds the flags of a new volume's options.
func createFlags(cmd *cobra.Command, o *volumeOptions) {
	cmd.Flags().StringVar(&o.profile, "profile", "", "the name of a profile (default "+profile.Default+")")
	cmd.Flags().StringVar(&o.backend, "backend", "", "what keeps the data: local (a disk image), directory, or nfs with -o export=HOST:/FOLDER (default local)")
	o.register(cmd)
	notEmpty(cmd, "profile", "backend")
}

func (a *app) volumeUpdateCommand() *cobra.Command {
	var o volumeOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "update NAME",
		Short: "Change what a volume promises, while it is used",
		Long: `Change a volume's promises, mounted or not: make it larger, change its limits and its
services. -o KEY=none takes a promise away. A volume can't shrink, and its file system
can't be changed.`,
		Example: `  plimsoll volume update db --capacity 40GB
  plimsoll volume update db --iops-max 2000
  plimsoll volume update db -o iops.min=1000`,
		ValidArgsFunction: a.completeVolume,
		Args:              exactly(1, "the name of a volume"),
		RunE: func(cmd *cobra.Command, args []string) error {
			options, err := o.all()
			if err != nil {
				return err
			}
			if len(options) == 0 {
				return usageError("nothing to change: give --capacity, --iops-max, --bandwidth-max or -o KEY=VALUE")
			}
			s, err := a.volumes()
			if err != nil {
				return err
			}
			v, err := s.Update(cmd.Context(), args[0], options)
			if err != nil {
				return volumeError(err)
			}
			if asJSON {
				return a.printJSON(look(s, v))
			}
			_, err = fmt.Fprintf(a.stdout, "volume %s is changed: %s, IOPS %s, bandwidth %s\n", v.Name, v.Profile.Asked("capacity"), v.Profile.Asked("iops"), v.Profile.Asked("bandwidth"))
			return err
		},
	}
	o.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
