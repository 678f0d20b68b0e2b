package share

import (
	"fmt"
	"regexp"
	"slices"

	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
)

// LeftOut stands for each text that a run had and a file has not: warnings, reasons, errors.
const LeftOut = "the text is not in files for others"

// runID is what store.NewRunID makes.
var runID = regexp.MustCompile(`^\d{8}-\d{6}-[0-9a-f]{4}$`)

// release is a version of Plimsoll with the commit that it was built from.
var release = regexp.MustCompile(`^\d{1,3}\.\d{1,3}\.\d{1,3}(\+[0-9a-f]{7,12}(\+changes)?)?$`)

// A filter copies what a file may have of one run. Every field is named here: a field that is added to a record is not in a file
// until it is added here.
type filter struct {
	names *names
	plan  *plan.Plan
}

// run returns the part of a run and its trials that a stranger may have.
func run(r *record.Run, trials []record.Trial) (record.Run, []record.Trial, error) {
	if r.PlanText == "" {
		return record.Run{}, nil, fmt.Errorf("run %s has no plan that others could run: it is a line of another tool", r.ID)
	}
	if !runID.MatchString(r.ID) {
		return record.Run{}, nil, fmt.Errorf("%q is not the id of a run", r.ID)
	}
	f := filter{names: newNames()}
	var err error
	if f.plan, err = f.names.plan(r.PlanText); err != nil {
		return record.Run{}, nil, fmt.Errorf("run %s: %w", r.ID, err)
	}
	out := f.run(r)
	var all []record.Trial
	keys := map[string]string{}
	for i := range trials {
		t, err := f.trial(&trials[i])
		if err != nil {
			return record.Run{}, nil, fmt.Errorf("run %s: %w", r.ID, err)
		}
		t.Run = out.ID
		all = append(all, t)
		keys[trials[i].Key] = t.Key
	}
	for _, l := range r.Looks {
		look := record.Look{Blocks: l.Blocks}
		for _, key := range l.LeftOut {
			look.LeftOut = append(look.LeftOut, keys[key]) // A cell that was left out has trials before.
		}
		out.Looks = append(out.Looks, look)
	}
	return out, all, nil
}

func (f *filter) run(r *record.Run) record.Run {
	out := record.Run{
		ID: r.ID, Plan: f.plan.Name, PlanText: string(f.plan.Marshal()), Seed: r.Seed, Margin: f.plan.Margin,
		Blocks: f.plan.Blocks, Quick: f.plan.Blocks < plan.DefaultBlocks,
		Started: r.Started.UTC(), Ended: r.Ended.UTC(),
		Status:   oneOf(r.Status, record.Running, record.Done, record.Failed, record.Interrupted),
		Machine:  machine(r.Machine),
		Ceiling:  record.Ceiling{IOPS: r.Ceiling.IOPS, CPUs: r.Ceiling.CPUs},
		Baseline: map[string]string{}, Warnings: warnings(r.Warnings),
	}
	if release.MatchString(r.Version) {
		out.Version = r.Version
	}
	for _, s := range r.Sessions {
		out.Sessions = append(out.Sessions, record.Session{Started: s.Started.UTC(), Ended: s.Ended.UTC()})
	}
	for name, e := range r.IOEngine {
		if _, ok := f.plan.Workload(f.names.of(name)); !ok {
			continue
		}
		if out.IOEngine == nil {
			out.IOEngine = map[string]record.EngineChoice{}
		}
		out.IOEngine[f.names.of(name)] = record.EngineChoice{Engine: fact(e.Engine)}
	}
	// As a run has it when it is started (package runs).
	for _, c := range f.plan.Cells() {
		if b, ok := f.plan.BaselineFor(c); ok {
			out.Baseline[c.Workload] = f.plan.Key(b)
		}
	}
	for _, s := range r.Skipped {
		out.Skipped = append(out.Skipped, record.Skip{Cell: f.names.cell(s.Cell), Reason: LeftOut})
	}
	return out
}

// machine is a fingerprint without the host's name. No digest of the name stands for it: names are short, and trying them all is
// quick.
func machine(m record.Machine) record.Machine {
	return record.Machine{
		OS: fact(m.OS), Kernel: fact(m.Kernel, kernelVersion), Arch: fact(m.Arch), CPUModel: fact(m.CPUModel, cpuCode), CPUs: m.CPUs, Memory: m.Memory,
		Virtual: fact(m.Virtual), Cgroup: fact(m.Cgroup), Clock: fact(m.Clock),
	}
}

// warnings keeps which checks had doubts, without their texts. Of the evidence it keeps the direction of the check of the page
// cache, by which a report knows that buffered writes were waited for.
func warnings(all []record.Warning) []record.Warning {
	var out []record.Warning
	for _, w := range all {
		name := w.Check
		if !slices.Contains(check.IDs, name) && !slices.Contains(otherChecks, name) {
			name = "other"
		}
		o := record.Warning{Check: name, Severity: oneOf(w.Severity, record.Note, record.Doubt), Text: LeftOut, Unsafe: w.Unsafe}
		if d := direction(w.Evidence); d != "" {
			o.Evidence = []byte(`{"direction":"` + d + `"}`)
		}
		out = append(out, o)
	}
	return out
}

// otherChecks are names of warnings that no check of package check raises.
var otherChecks = []string{"records", "quick", "other"}
