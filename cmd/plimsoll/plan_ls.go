package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"plimsoll/internal/measure/planfile"
)

func (a *app) planLsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the built-in plans",
		Long:  "List the built-in plans with the number of their cells, A/A controls included.",
		Example: `  plimsoll plan ls
  plimsoll plan ls --json`,
		Args: exactly(0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			rows, err := planfile.List()
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(rows)
			}
			w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tCELLS\tDESCRIPTION")
			for _, r := range rows {
				first, _, _ := strings.Cut(r.Description, "\n")
				fmt.Fprintf(w, "%s\t%d\t%s\n", r.Name, r.Cells, first)
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
