package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// A Bench runs workloads that don't come from a plan, one after the other in one container, as the dialects of other tools
// do. Its methods must be called from one goroutine.
type Bench struct {
	Engine engine.Engine
	// Spec is the container; its ID is set by Open.
	Spec engine.Spec
	// Run is the run that the trials belong to, Cell their cell.
	Run  *record.Run
	Cell record.Cell
	// Witness and Judge may be nil.
	Witness Witness
	Judge   Judge
	// Prepared, unless nil, is called when a trial's files exist and its measurement begins, or when that failed.
	Prepared func()
	// Hard is cancelled when there is no more time for cleaning up; nil: there always is.
	Hard context.Context
	// Machine is as in a Runner.
	Machine string

	// OnStatus, unless nil, is called for each Ask with the trial's result so far.
	OnStatus func(*workload.Result)

	asking  sync.Mutex
	ask     func() // nil if no trial runs
	pool    *pool
	session sessionSpec
	agent   *agent.Agent
	opened  time.Duration
	trials  int
	// marks are the files of earlier stages that their file systems can't mark as Plimsoll's.
	marks workload.Marks
}

// Open starts the container. The error is a *refusal.Error when the engine can't
// offer the place.
func (b *Bench) Open(ctx context.Context) error {
	if b.Hard == nil {
		b.Hard = context.Background()
	}
	b.pool = newPool(map[string]engine.Engine{"": b.Engine}, b.Run.ID, b.Machine, b.Hard)
	b.session = sessionSpec{spec: b.Spec}
	var err error
	b.agent, b.opened, err = b.pool.get(ctx, b.session)
	return err
}

// Trial runs one workload and returns its record, and the error if it failed. It stops the trial when ctx ends. If the
// engine or the state folder is gone, the trial is no result: the record is nil and the error an *EnvironmentError.
func (b *Bench) Trial(ctx context.Context, spec workload.Spec, onSample func(load.Sample)) (*record.Trial, error) {
	cell := b.Cell
	cell.Workload, cell.Clients = spec.Name, 1
	t := &record.Trial{
		Run: b.Run.ID, Cell: cell, Key: fmt.Sprintf("%s/%s/%s", cell.Workload, cell.Engine, cell.Place), Order: b.trials,
		Started: time.Now(), Status: record.Done, Spec: spec, Metric: spec.Metric(),
	}
	b.trials++
	t.Spec.Marks = maps.Clone(b.marks)
	err := b.attempt(ctx, t, onSample)
	b.remember(t.Results)
	if why := lostEnvironment(ctx, cell.Engine, b.Engine, b.Spec, err); why != nil {
		return nil, why
	}
	if err != nil {
		fail(t, err)
	}
	t.Wall = time.Since(t.Started)
	if err == nil {
		t.Overhead = overhead(t)
		if b.Judge != nil {
			t.Warnings = b.Judge.Trial(t, b.Run)
		}
	}
	return t, err
}

// remember keeps what a stage reports about its files.
func (b *Bench) remember(results []workload.Result) {
	for i := range results {
		if b.marks == nil {
			b.marks = workload.Marks{}
		}
		maps.Copy(b.marks, results[i].Marks)
	}
}

// attempt does the trial, in a new container if the trial before broke the last one.
func (b *Bench) attempt(ctx context.Context, t *record.Trial, onSample func(load.Sample)) error {
	if b.agent == nil {
		var err error
		if b.agent, b.opened, err = b.pool.get(ctx, b.session); err != nil {
			return err
		}
	}
	t.SessionOpen, b.opened = b.opened, 0
	at := attempt{
		agents: []*agent.Agent{b.agent}, witness: b.Witness, target: target(t.Spec), limits: b.Spec.Limits, pool: b.pool, flush: b.Spec.Limits.IO(),
		spec: func(int) workload.Spec { return t.Spec }, onSample: onSample, prepared: b.Prepared, onStatus: b.OnStatus, asking: b.mayAsk,
	}
	err := at.run(ctx, t)
	if !b.agent.Fit() {
		err = errors.Join(err, b.pool.drop(b.session))
		b.agent = nil
	}
	return err
}

// mayAsk sets the function that asks the running trial for its status, nil for none.
func (b *Bench) mayAsk(ask func()) {
	b.asking.Lock()
	defer b.asking.Unlock()
	b.ask = ask
}

// Ask asks the running trial for its result so far, and reports whether one runs. It may be called from any goroutine.
// OnStatus is not called if the trial ends before it answers.
func (b *Bench) Ask() bool {
	b.asking.Lock()
	defer b.asking.Unlock()
	if b.ask == nil {
		return false
	}
	b.ask()
	return true
}

// target is the file or device that the first job of a stage names by its whole path; "" for one in the place's folder.
func target(s workload.Spec) string {
	path := s.Job.Filename
	if s.Kind == workload.Stage && len(s.Jobs) > 0 {
		path = s.Jobs[0].Job.Filename
		if f := s.Jobs[0].Job.Files; len(f) > 0 {
			path = f[0]
		}
	}
	if !filepath.IsAbs(path) {
		return ""
	}
	return path
}

// Close ends the container and removes what was made for it.
func (b *Bench) Close() error {
	if b.pool == nil {
		return nil
	}
	b.agent = nil
	return b.pool.closeAll()
}
