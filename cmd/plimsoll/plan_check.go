package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/size"
)

func (a *app) planCheckCommand() *cobra.Command {
	var asJSON bool
	var o plan.Options
	cmd := &cobra.Command{
		Use:   "check NAME|FILE|-",
		Short: "Check a plan, and say how large it is",
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
				return errors.Join(a.printJSON(checkReport(p, err)), a.planCount(file, err))
			}
			if err != nil {
				return a.planFaults(file, err)
			}
			_, err = fmt.Fprintln(a.stdout, "ok: "+planSize(p))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, faults included")
	addPlanFlags(cmd, &o)
	return cmd
}

// planFaults prints the faults of a plan, one a line, so that editors can jump to
// them, and returns how many there are.
func (a *app) planFaults(file string, err error) error {
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
	return a.planCount(file, err)
}

// planCount says how many faults a plan has; nil for none.
func (a *app) planCount(file string, err error) error {
	var faults strict.Errors
	switch {
	case err == nil:
		return nil
	case errors.As(err, &faults) && len(faults) == 1:
		return usageError("%s has a fault", file)
	}
	return usageError("%s has %d faults", file, len(faults))
}

// planSize counts what a plan spans: the cells that there are, and not all combinations of names,
// since no engine has every kind of place, and --only and exclude take some out.
func planSize(p *plan.Plan) string {
	cells, controls := 0, 0
	workloads, limits, clients := map[string]bool{}, map[string]bool{}, map[int]bool{}
	type spot struct{ engine, place string }
	spots, on := map[spot]bool{}, map[string]int{}
	for _, c := range p.Cells() {
		if c.Control {
			controls++
			continue
		}
		cells++
		workloads[c.Workload], limits[c.Limits], clients[c.Clients] = true, true, true
		if s := (spot{c.Engine, c.Places()}); !spots[s] {
			spots[s] = true
			on[c.Engine]++
		}
	}
	var engines []string
	for _, e := range p.Engines {
		if n := on[e.Name]; n > 0 {
			engines = append(engines, fmt.Sprintf("%d on %s", n, e.Name))
		}
	}
	s := fmt.Sprintf("%s in %s (%s)", size.Plural(len(workloads), "workload"), size.Plural(len(spots), "place"), strings.Join(engines, ", "))
	if n := len(limits); n > 1 {
		s += fmt.Sprintf(", %d sets of limits", n)
	}
	if n := len(clients); n > 1 {
		s += fmt.Sprintf(", %d numbers of clients", n)
	}
	s += ": " + size.Plural(cells, "cell")
	if controls > 0 {
		s += " and " + size.Plural(controls, record.AAControl)
	}
	return fmt.Sprintf("%s, %s, %s; about %s if all of them can be measured", s, size.Plural(p.Blocks, "block"), size.Plural(p.Trials(), "trial"), size.Duration(p.Estimate().Round(time.Second)))
}

// checkReport is what check prints as JSON.
func checkReport(p *plan.Plan, err error) any {
	type fault struct {
		File    string `json:"file,omitempty"`
		Line    int    `json:"line,omitempty"`
		Column  int    `json:"column,omitempty"`
		Flag    string `json:"flag,omitempty"`
		Message string `json:"message"`
	}
	report := struct {
		OK bool `json:"ok"`
		// Cells counts controls too; Seconds is the estimate.
		Cells   int      `json:"cells"`
		Trials  int      `json:"trials"`
		Seconds float64  `json:"estimate_seconds"`
		Keys    []string `json:"keys"`
		Faults  []fault  `json:"faults"`
	}{OK: err == nil, Keys: []string{}, Faults: []fault{}}
	var faults strict.Errors
	errors.As(err, &faults)
	for _, f := range faults {
		var e *strict.Error
		if errors.As(f, &e) {
			report.Faults = append(report.Faults, fault(*e))
		}
	}
	if p == nil {
		return report
	}
	for _, c := range p.Cells() {
		report.Keys = append(report.Keys, p.Key(c))
	}
	report.Cells, report.Trials, report.Seconds = len(report.Keys), p.Trials(), p.Estimate().Seconds()
	return report
}
