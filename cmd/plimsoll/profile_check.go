package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/provide/profile"
)

func (a *app) profileCheckCommand() *cobra.Command {
	var asJSON bool
	var name string
	cmd := &cobra.Command{
		Use:   "check NAME|FILE|-",
		Short: "Check a profile, and what a backend keeps of it here",
		Long: `Check a profile, and ask a backend on this machine about each of its keys. A key is
enforced, advisory (known, but nothing enforces it) or unsupported. A volume is refused
if a key is unsupported, unless the profile lists it as optional; the exit status is
then 5. For a profile with faults it is 2, and each is printed as
file:line:column: message.`,
		Example: `  plimsoll profile check GOLD
  plimsoll profile check GOLD --backend directory
  plimsoll profile check ./web.yaml --json`,
		ValidArgsFunction: a.completeProfile,
		Args:              exactly(1, "the name of a profile, a file, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			backend, err := profile.BackendNamed(name)
			if err != nil {
				return err
			}
			p, _, err := a.namedProfile(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			s, err := a.volumes()
			if err != nil {
				return err
			}
			report, err := s.Check(backend.Name, p)
			if err != nil {
				return err
			}
			if asJSON {
				return errors.Join(a.printJSON(report), report.Refusal())
			}
			_, err = fmt.Fprint(a.stdout, report.Text())
			return errors.Join(err, report.Refusal())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&name, "backend", "local", "what would make the volume: "+strings.Join(profile.BackendNames(), ", "))
	return cmd
}
