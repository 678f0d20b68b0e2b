package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/conf/userfile"
	"plimsoll/internal/measure/plan"
	"plimsoll/plans"
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

// exactly makes wrong numbers of arguments wrong usage.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError("%s takes %s: see '%s --help'", cmd.CommandPath(), what, cmd.CommandPath())
		}
		return nil
	}
}

// readPlan returns the text of the plan that arg names, and the name of its
// file for messages: a built-in plan, "-" for standard input, or a file.
// A file that is called like a built-in plan is reached with ./ before it.
func (a *app) readPlan(ctx context.Context, arg string) (file string, text []byte, err error) {
	if slices.Contains(plans.Names(), arg) {
		text, err = plans.Get(arg)
		return plans.File(arg), text, err
	}
	file = "standard input"
	open := a.openStdin
	if arg != "-" {
		file = arg
		open = userfile.Named(arg)
	}
	// It is Parse that says that it is too much.
	text, err = userfile.Read(ctx, open, strict.MaxSize)
	switch {
	case errors.Is(err, context.Canceled):
		return "", nil, fmt.Errorf("interrupted while the plan %s was read: nothing is recorded", file)
	case errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(arg, `/\.`):
		return "", nil, usageError("there is no file and no built-in plan %q; built in: %s", arg, strings.Join(plans.Names(), ", "))
	case err != nil:
		return "", nil, usageError("read the plan %s: %w", file, err)
	case isJobFile(file, text):
		text, err = a.planOfJobs(ctx, file, text)
	}
	return file, text, err
}

// openStdin is standard input for package userfile.
func (a *app) openStdin() (io.ReadCloser, error) { return io.NopCloser(a.stdin), nil }

// terms is the value of --only. Given again, it adds its terms to those before.
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
	f.BoolVar(&o.Quick, "quick", false, "a first look, as the plan's quick section says, by default with 3 blocks; it proves nothing")
	f.StringVar(&o.Blocks, "blocks", "", "run every cell `N` times instead of as often as the plan says")
	f.StringVar(&o.Seed, "seed", "", "seed `N` of the random order of trials, to repeat a run")
	f.Var((*terms)(&o.Only), "only", "keep only the cells that `EXPR` names, like engine=oci,place=layer|bind,workload=randread-*; given again, only those that both name")
	f.StringArrayVar(&o.Set, "set", nil, "set a key of the plan, as `KEY=VALUE`, like workloads.append.count=100; may be repeated")
}

func (a *app) planLsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the built-in plans",
		Long:  "List the built-in plans with the number of their cells, A/A controls included.",
		Example: `  plimsoll plan ls
  plimsoll plan ls --json`,
		Args: exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			type row struct {
				Name        string `json:"name"`
				Description string `json:"description"`
				Cells       int    `json:"cells"`
			}
			var rows []row
			for _, name := range plans.Names() {
				file, text, err := a.readPlan(cmd.Context(), name)
				if err != nil {
					return err
				}
				p, err := plan.Parse(file, text)
				if err != nil {
					return err
				}
				rows = append(rows, row{p.Name, strings.TrimSpace(p.Description), len(p.Cells())})
			}
			if asJSON {
				return a.printJSON(rows)
			}
			w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tCELLS\tDESCRIPTION")
			for _, r := range rows {
				fmt.Fprintf(w, "%s\t%d\t%s\n", r.Name, r.Cells, firstLine(r.Description))
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

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
				return a.planFaults(file, err)
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
	cmd.Flags().Bool("json", true, "print JSON, which is the only form that a schema has")
	return cmd
}

// printJSON prints v for machines. Signs of HTML stay as they are: advice is commands, with < and >.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
