package main

import (
	"github.com/spf13/cobra"

	"plimsoll/internal/provide/profile"
)

func (a *app) profileShowCommand() *cobra.Command {
	var asJSON, normal bool
	cmd := &cobra.Command{
		Use:   "show NAME|FILE|-",
		Short: "Print a profile",
		Long: `Print a profile as it was written, comments included. With --normal it is printed with
each key in the one spelling of the manual, with units and defaults: so are files of
Storidge's converted. --json prints bytes, bytes per second and minutes.`,
		Example: `  plimsoll profile show GOLD
  plimsoll profile show GOLD --json
  plimsoll profile show ./web.yaml --normal`,
		ValidArgsFunction: a.completeProfile,
		Args:              exactly(1, "the name of a profile, a file, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, text, err := a.namedProfile(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			switch {
			case asJSON:
				return a.printJSON(p)
			case normal:
				text = p.Marshal()
			}
			_, err = a.stdout.Write(text)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&normal, "normal", false, "print each key in the one spelling, with units and defaults")
	return cmd
}

func (a *app) profileSchemaCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of profiles",
		Long: `Print the JSON schema (draft 2020-12) of profiles. Editors with a YAML language server
complete and check keys with it, if the profile begins with the line
"# yaml-language-server: $schema=profile.schema.json". It has the one spelling of the
manual; 'plimsoll profile check' reads others, too, and finds more.`,
		Example: "  plimsoll profile schema > profile.schema.json",
		Args:    exactly(0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			_, err := a.stdout.Write(profile.Schema())
			return err
		},
	}
	cmd.Flags().Bool("json", true, "print JSON, the only form of a schema")
	return cmd
}
