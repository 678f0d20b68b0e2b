// Package dialecttest runs a dialect's stages in the test's own process.
package dialecttest

import (
	"context"
	"path/filepath"
	"sync"

	"plimsoll/internal/conf/userfile"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// Local is a dialect.Session that runs stages here, on real files in Dir.
type Local struct {
	Dir string
	// Stages keeps what was run.
	Stages [][]workload.StageJob
	// Results keeps what came of it.
	Results []*workload.Result

	marks    workload.Marks
	onStatus func(*workload.Result)
	mu       sync.Mutex
	running  workload.StatusRunner // nil: none
}

// Path implements dialect.Session.
func (l *Local) Path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(l.Dir, name)
}

// Stage implements dialect.Session.
func (l *Local) Stage(ctx context.Context, name string, jobs []workload.StageJob, onSample func(load.Sample)) (*workload.Result, error) {
	l.Stages = append(l.Stages, jobs)
	r, err := workload.Prepare(ctx, workload.Spec{Name: name, Kind: workload.Stage, Jobs: jobs, Marks: l.marks}, workload.Folders{Work: l.Dir})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if onSample == nil {
		onSample = func(load.Sample) {}
	}
	l.run(r)
	res, err := r.Run(ctx, onSample)
	l.run(nil)
	if s, ok := r.(workload.Settler); ok && err == nil {
		err = s.Settle(ctx, res, nil)
	}
	l.Results = append(l.Results, res)
	if res != nil && res.Marks != nil {
		l.marks = res.Marks
	}
	return res, err
}

func (l *Local) run(r workload.Runner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running, _ = r.(workload.StatusRunner)
}

// OnStatus implements dialect.Reporter.
func (l *Local) OnStatus(f func(*workload.Result)) { l.onStatus = f }

// Ask implements dialect.Reporter.
func (l *Local) Ask() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == nil || l.onStatus == nil {
		return false
	}
	l.onStatus(l.running.Status())
	return true
}

// ReadFile is a dialect.FileReader of this machine's files.
func ReadFile(name string, limit int64) ([]byte, error) {
	return userfile.Read(context.Background(), userfile.Named(name), limit)
}
