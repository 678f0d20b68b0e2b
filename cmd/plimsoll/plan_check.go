package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/measure/plan"
)

func (a *app) planCheckCommand() *cobra.Command {
	var asJSON bool
	var o plan.Options
	cmd := &cobra.Command{
		Use:   "check NAME|FILE|-",
		Short: "Check a plan and print its size",
		Long: `Check a plan without running it. For a sound plan it prints one line with its size
and about how long it would run on an ordinary SSD. For any other it prints every
fault as file:line:column: message, and the exit status is 2.`,
		Example: `  plimsoll plan check mine.yaml
  plimsoll plan check places --blocks 10 --only 'engine=host|oci'
  generate-plan | plimsoll plan check -`,
		ValidArgsFunction: completePlan,
		Args:              exactly(1, "the name of a built-in plan, a file, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, text, err := a.readPlan(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			p, err := plan.ParseWith(file, text, o)
			if asJSON {
				return errors.Join(a.printJSON(plan.Check(p, err)), a.countFaults(file, err))
			}
			if err != nil {
				return a.printFaults(file, err)
			}
			_, err = fmt.Fprintln(a.stdout, "ok: "+p.Size())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, faults included")
	addPlanFlags(cmd, &o)
	return cmd
}

// printFaults prints the faults of a plan or profile, one per line so that editors can jump to them, and returns their number.
func (a *app) printFaults(file string, err error) error {
	var faults strict.Errors
	if !errors.As(err, &faults) {
		return usageError("%w", err)
	}
	if len(faults) == 1 {
		return usageError("%w", faults[0])
	}
	for _, f := range faults {
		fmt.Fprintln(a.stderr, f)
	}
	return a.countFaults(file, err)
}

// countFaults returns an error with the number of a file's faults, or nil if there are none.
func (a *app) countFaults(file string, err error) error {
	var faults strict.Errors
	switch {
	case err == nil:
		return nil
	case errors.As(err, &faults) && len(faults) == 1:
		return usageError("%s has a fault", file)
	}
	return usageError("%s has %d faults", file, len(faults))
}
