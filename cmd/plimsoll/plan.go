package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/planfile"
)

// planCommand is "plimsoll plan".
func (a *app) planCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "List, show and check plans",
		Long: `A plan is a YAML file that spans a matrix: the I/O (workloads), the programs that
run it (engines), where the data lives (places), the limits, and the number of
clients at once. Plimsoll has built-in plans; you can write your own.`,
		Example: `  plimsoll plan ls
  plimsoll plan show places > mine.yaml
  plimsoll plan check mine.yaml`,
		Args: needsSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.planLsCommand(), a.planShowCommand(), a.planCheckCommand(), a.planSchemaCommand())
	return cmd
}

// readPlan returns the text of the plan that arg names, and the name of its file for messages.
func (a *app) readPlan(ctx context.Context, arg string) (file string, text []byte, err error) {
	return planfile.Read(ctx, arg, a.stdin, func(note string) { fmt.Fprintln(a.stderr, "note: "+note) })
}

// terms is the value of --only. Each use of the flag adds terms.
type terms string

// String implements pflag.Value.
func (t *terms) String() string { return string(*t) }

// Type implements pflag.Value.
func (t *terms) Type() string { return "EXPR" }

// Set implements pflag.Value.
func (t *terms) Set(v string) error {
	if *t != "" {
		v = string(*t) + "," + v
	}
	*t = terms(v)
	return nil
}

// addPlanFlags adds the flags that change a plan.
func addPlanFlags(cmd *cobra.Command, o *plan.Options) {
	f := cmd.Flags()
	f.BoolVar(&o.Quick, "quick", false, "a first look with the settings of the plan's quick section, by default 3 blocks, which prove nothing")
	f.StringVar(&o.Blocks, "blocks", "", "run `N` blocks instead of the plan's number")
	f.StringVar(&o.Seed, "seed", "", "seed `N` of the random order of trials, to repeat a run")
	f.Var((*terms)(&o.Only), "only", "keep only the cells that `EXPR` names, like engine=oci,place=layer|bind,workload=randread-*; if repeated, a cell must match every EXPR")
	f.StringArrayVar(&o.Set, "set", nil, "set a key of the plan to a value, `KEY=VALUE`, such as workloads.append.count=100; may be repeated")
}
