package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/provide/profile"
	"plimsoll/internal/text/layout"
)

func (a *app) profileLsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the profiles",
		Long: `List the built-in profiles and your own. I/Os and bandwidth are shown as MIN-MAX per
second; a dash stands for what a profile doesn't ask for.`,
		Example: `  plimsoll profile ls
  plimsoll profile ls --json`,
		Args: exactly(0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			list, err := a.profiles().List()
			if asJSON {
				if list == nil {
					list = []profile.Listed{}
				}
				return errors.Join(a.printJSON(list), err)
			}
			table := layout.Table{Head: []string{"NAME", "FROM", "CAPACITY", "IOPS", "BANDWIDTH", "DESCRIPTION"}}
			for _, p := range list {
				from := "you"
				if p.BuiltIn {
					from = "built in"
				}
				first, _, _ := strings.Cut(p.Description, "\n")
				table.Add(p.Name, from, p.Asked("capacity"), p.Asked("iops"), p.Asked("bandwidth"), first)
			}
			var b strings.Builder
			table.Write(&b)
			_, printed := fmt.Fprint(a.stdout, b.String())
			return errors.Join(printed, err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
