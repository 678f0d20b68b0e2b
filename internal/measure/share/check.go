package share

import (
	"errors"
	"fmt"
	"slices"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/report"
	"plimsoll/internal/text/size"
)

// A Verdict is what a check found of a file or a run.
type Verdict string

// The verdicts, from the best to the worst.
const (
	// Closed: a built-in plan was run, unchanged and completely, and all figures fit together.
	Closed Verdict = "closed"
	// Open: all figures fit together, but the plan is another one, or it was changed, or only a part of it was run.
	Open Verdict = "open"
	// Invalid: the file is damaged, was changed, or contradicts itself.
	Invalid Verdict = "invalid"
)

// A Finding is the result of a check.
type Finding struct {
	// Verdict is the worst of the runs'.
	Verdict Verdict `json:"verdict"`
	// Why says why a file is invalid; empty otherwise.
	Why string `json:"why,omitempty"`
	// Runs are empty if the file is invalid.
	Runs []RunFinding `json:"runs"`
}

// A RunFinding is the result for one run of a file.
type RunFinding struct {
	ID       string  `json:"id"`
	Plan     string  `json:"plan"`
	PlanHash string  `json:"plan_hash"`
	Verdict  Verdict `json:"verdict"`
	// Version is that of the Plimsoll that measured; empty if it isn't known.
	Version string `json:"version"`
	Seed    uint64 `json:"seed"`
	Blocks  int    `json:"blocks"`
	Trials  int    `json:"trials"`
	// Failed counts the trials that failed, Skipped the cells that the machine could not run.
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
	// Changes are why a run is open; empty for closed ones.
	Changes []Change `json:"changes"`
}

// Check checks the data of a file. version is this program's. An error is one of this program, not of the data.
func Check(data []byte, version string) (*Finding, error) {
	f := &Finding{Verdict: Closed, Runs: []RunFinding{}}
	runs, err := Read(data, version)
	var bad *InvalidError
	switch {
	case errors.As(err, &bad):
		f.Verdict, f.Why = Invalid, err.Error()
		return f, nil
	case err != nil:
		return nil, err
	}
	for i := range runs {
		r, err := runs[i].finding()
		if err != nil {
			return nil, err
		}
		if r.Verdict == Open {
			f.Verdict = Open
		}
		f.Runs = append(f.Runs, r)
	}
	return f, nil
}

// Read returns the runs of a file, once they are proved: their reports are made anew from their trials, and contain only what a file
// may have. version is this program's. The error is an *InvalidError if the data is at fault.
func Read(data []byte, version string) ([]Run, error) {
	all, err := read(data)
	if err != nil {
		return nil, err
	}
	var out []Run
	for i := range all {
		made, err := prove(&all[i], version)
		if err != nil {
			return nil, err
		}
		out = append(out, made)
	}
	return out, nil
}

// prove makes a run of a file anew, and compares.
func prove(g *given, version string) (Run, error) {
	r, trials, err := run(&g.Report.Run, g.Trials)
	if err != nil {
		return Run{}, invalid("%v", err)
	}
	name := "run " + r.ID
	if g.PlanHash != digest([]byte(g.Report.Run.PlanText)) {
		return Run{}, invalid("%s: its plan does not fit the plan's hash", name)
	}
	p, err := plan.Parse("the plan", []byte(r.PlanText))
	if err != nil {
		return Run{}, invalid("%s: %v", name, err)
	}
	if err := sound(p, trials); err != nil {
		return Run{}, fmt.Errorf("%s: %w", name, err)
	}
	made := Run{PlanHash: g.PlanHash, Report: report.Build(r, trials, report.Options{TrialHistograms: -1}), Trials: trials}
	if err := follows(g, &made, r.Version == version); err != nil {
		return Run{}, fmt.Errorf("%s: %w", name, err)
	}
	return made, nil
}

// finding judges a run that is proved.
func (r *Run) finding() (RunFinding, error) {
	run := &r.Report.Run
	f := RunFinding{
		ID: run.ID, Plan: run.Plan, PlanHash: r.PlanHash, Verdict: Closed, Version: run.Version, Seed: run.Seed, Blocks: run.Blocks,
		Trials: len(r.Trials), Skipped: len(run.Skipped), Changes: []Change{},
	}
	for i := range r.Trials {
		if r.Trials[i].Status == record.Failed {
			f.Failed++
		}
	}
	p, err := plan.Parse("the plan", []byte(run.PlanText))
	if err != nil {
		return f, err
	}
	changes, err := changesOf(p)
	if err != nil {
		return f, err
	}
	if f.Changes = append(f.Changes, changes...); run.Status != record.Done {
		f.Changes = append(f.Changes, Change{Key: "run", Text: "it did not end by itself: its status is " + run.Status})
	}
	if n := missing(p, run, r.Trials); n > 0 {
		f.Changes = append(f.Changes, Change{Key: "run", Text: "it lacks " + size.Plural(n, "trial") + " of the plan"})
	}
	if len(f.Changes) > 0 {
		f.Verdict = Open
	}
	return f, nil
}

// missing is how many trials of a plan a run lacks. Cells that the machine could not run have none, and cells that were left out
// have none from then on.
func missing(p *plan.Plan, r *record.Run, trials []record.Trial) int {
	blocks := map[record.Cell]int{}
	for i := range trials {
		blocks[trials[i].Cell]++
	}
	n := 0
	for _, c := range p.Cells() {
		if !slices.ContainsFunc(r.Skipped, func(s record.Skip) bool { return s.Cell == c }) {
			n -= blocks[c]
			for b := range p.Blocks {
				n += map[bool]int{true: 1}[r.MeasuredIn(p.Key(c), b)]
			}
		}
	}
	return n
}
