// Package runs starts runs of plans, and resumes runs that were interrupted or that are to have more blocks.
//
// A run belongs to one process while it is measured: see store.Own. Resume takes ownership before it reads the run,
// since the records of a run that another process measures are soon outdated.
package runs

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/seccomp"
	"plimsoll/internal/measure/engines"
	"plimsoll/internal/measure/fingerprint"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/measure/trial"
	"plimsoll/internal/measure/witness"
	"plimsoll/internal/text/usage"
)

// A Job is a run that is about to start or to go on.
type Job struct {
	Run  *record.Run
	Plan *plan.Plan
	// Done are the trials that were measured before; earlier has their records.
	Done    map[trial.Key]bool
	earlier []record.Trial
}

// New starts a run of a plan's text, as changed by the options of c. version is this program's. Faults of the plan are
// *usage.Errors.
func New(file string, text []byte, c Command, version string) (*Job, error) {
	c.Plan.Seccomp = seccomp.Check
	p, err := plan.ParseWith(file, text, c.Plan)
	if err != nil {
		return nil, usage.Errorf("%w", err)
	}
	seed := p.Seed
	if seed == 0 {
		seed = 1 + mathrand.Uint64N(1<<32) // Short enough to type.
	}
	now := time.Now()
	id, err := store.NewRunID(now, rand.Reader)
	if err != nil {
		return nil, err
	}
	run := &record.Run{
		ID: id, Plan: p.Name, PlanText: string(p.Marshal()), Version: version,
		Seed: seed, Blocks: p.Blocks, Quick: p.Blocks < plan.DefaultBlocks, Started: now,
		Machine: fingerprint.Machine(device.Host()), Margin: p.Margin,
		Command: c.Repeat(seed, id), Baseline: map[string]string{},
	}
	for _, cell := range p.Cells() {
		if b, ok := p.BaselineFor(cell); ok {
			run.Baseline[cell.Workload] = p.Key(b)
		}
	}
	return &Job{Run: run, Plan: p}, nil
}

// Left estimates the time of the trials that remain to be measured.
func (j *Job) Left() time.Duration {
	all := len(j.Plan.Cells()) * j.Plan.Blocks
	if all == 0 {
		return 0
	}
	share := float64(max(0, all-len(j.Done))) / float64(all)
	return time.Duration(share * float64(j.Plan.Estimate()))
}

// A Bench is where a job is measured.
type Bench struct {
	Source engines.Source
	// Engines are the engines of the plan, by name.
	Engines  map[string]engine.Engine
	Store    *store.Store
	Observer trial.Observer
	// Budget is trial.Runner's.
	Budget time.Duration
	// UntilSettled, unless 0, is how long to measure at most, until all comparisons are settled.
	UntilSettled time.Duration
	// Hard is cancelled when cleaning up must be quick.
	Hard context.Context
}

// Measure removes what killed runs left, and measures the trials that are not done. Its errors are those of
// trial.Runner.
func (j *Job) Measure(ctx context.Context, b Bench) error {
	b.Source.SweepOthers(ctx, b.Engines)
	r := &trial.Runner{
		Plan: j.Plan, Engines: b.Engines, Recorder: b.Store, Observer: b.Observer, Judge: check.Judge{}, Witness: witness.New(device.Host()),
		Budget: b.Budget, Review: settler{b.UntilSettled}.review, Hard: b.Hard, Done: j.Done, Earlier: j.earlier, StateDir: b.Source.State, Machine: b.Source.Machine,
	}
	began := time.Now()
	if err := r.Run(ctx, j.Run); err != nil {
		return err
	}
	if j.Run.Quick || time.Since(began) < safetyFrom {
		return nil
	}
	return j.checkSafety(ctx, b)
}
