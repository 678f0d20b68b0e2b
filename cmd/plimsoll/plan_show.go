package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"plimsoll/internal/measure/plan"
)

func (a *app) planShowCommand() *cobra.Command {
	var asJSON bool
	var o plan.Options
	cmd := &cobra.Command{
		Use:   "show NAME|FILE|-",
		Short: "Print a plan",
		Long: `Print a plan as YAML: as it was written, comments included, or, with flags that
change it, as it would be run, with all defaults spelled out.`,
		Example: `  plimsoll plan show places
  plimsoll plan show places --quick --only engine=oci`,
		ValidArgsFunction: completePlan,
		Args:              exactly(1, "the name of a built-in plan, a file, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, text, err := a.readPlan(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			p, err := plan.ParseWith(file, text, o)
			if err != nil {
				return a.printFaults(file, err)
			}
			if o.Quick || o.Blocks+o.Seed+o.Only != "" || len(o.Set) > 0 {
				text = p.Marshal()
			}
			if asJSON {
				if text, err = plan.JSON(file, text); err != nil {
					return err
				}
				return a.printJSON(json.RawMessage(text))
			}
			_, err = a.stdout.Write(text)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	addPlanFlags(cmd, &o)
	return cmd
}

func (a *app) planSchemaCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of plans",
		Long: `Print the JSON schema (draft 2020-12) of plans. Editors with a YAML language
server complete and check keys with it, if the plan begins with the line
"# yaml-language-server: $schema=plan.schema.json". 'plimsoll plan check' finds more.`,
		Example: "  plimsoll plan schema > plan.schema.json",
		Args:    exactly(0, "no argument"),
		RunE: func(*cobra.Command, []string) error {
			_, err := a.stdout.Write(plan.Schema())
			return err
		},
	}
	cmd.Flags().Bool("json", true, "print JSON, the only form of a schema")
	return cmd
}
