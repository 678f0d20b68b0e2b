package line

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/dialect/ab"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/fingerprint"
	"plimsoll/internal/measure/httpload"
	"plimsoll/internal/measure/limitverdict"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/measure/trial"
	"plimsoll/internal/measure/witness"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/refusal"
	"plimsoll/load"
)

// A session is a dialect.Session on a bench.
type session struct {
	options Options
	bench   *trial.Bench
	inPlace bool
	names   dialect.Names
	db      *store.Store // nil: nothing is recorded
	// recorded: there is a trial.
	recorded bool
	release  func() error
	doubts   []record.Warning
	// passed is how many limits were not held.
	passed int
	// implied returns what the limits mean in the other unit.
	implied []string
	stderr  io.Writer
	// quiet: neither the doubts nor that are printed. closed: close was called.
	quiet, closed bool
}

// openSession opens the container that a tool's line runs in.
func openSession(ctx context.Context, tool Tool, f Flags, args []string, stderr io.Writer, o Options) (*session, error) {
	kind := f.Engine
	if kind == "" {
		kind = plan.Host
	}
	e, err := o.Source.New(kind)
	if err != nil {
		return nil, err
	}
	where, err := placeOf(tool, f, kind)
	if err != nil {
		return nil, err
	}
	if f.Limits.Name == "" {
		f.Limits.Name = plan.DefaultLimits
	}
	inPlace := f.Place != "" || kind != plan.Host
	if _, err := os.Getwd(); err != nil && !inPlace {
		return nil, fmt.Errorf("the current folder, where the line's files are, can't be found: %w; change to one that is there", err)
	}
	now := time.Now()
	id, err := store.NewRunID(now, rand.Reader)
	if err != nil {
		return nil, err
	}
	words := []string{"plimsoll", tool.Name}
	for _, w := range args {
		words = append(words, clean.Shell(w))
	}
	s := &session{options: o, stderr: stderr, inPlace: inPlace, release: func() error { return nil }}
	s.bench = &trial.Bench{
		Engine: e, Spec: engine.Spec{Place: where, Image: f.Image, Isolation: f.Isolation, Limits: f.Limits, Network: networkOf(tool, f, kind)}, Cell: record.Cell{Engine: kind, Place: where.Name, Limits: f.Limits.Name},
		Run: &record.Run{
			ID: id, Plan: tool.Name, Command: strings.Join(words, " "), Version: o.Version, Blocks: 1, Quick: true, Started: now,
			Status: record.Running, Machine: fingerprint.Machine(device.Host()), Baseline: map[string]string{},
		},
		Witness: witness.New(device.Host()), Judge: check.Judge{}, Hard: o.Hard, Machine: o.Source.Machine,
	}
	if f.Record {
		// First: what can't be recorded need not be measured.
		if err := s.record(); err != nil {
			return nil, err
		}
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.close(err, false))
	}
	return s, nil
}

// record opens the database for the run.
func (s *session) record() (err error) {
	if s.db, err = store.Open(filepath.Join(s.options.Source.State, "plimsoll.db")); err != nil {
		return err
	}
	if err = s.db.CheckWritable(); err == nil {
		s.release, err = s.db.Own(s.bench.Run.ID)
	}
	if err != nil {
		return errors.Join(err, s.db.Close())
	}
	return nil
}

// open starts the container.
func (s *session) open(ctx context.Context) error {
	e := s.bench.Engine
	src := s.options.Source
	src.SweepLimits(ctx)
	src.Sweep(ctx, e)
	p := e.Probe(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx) // An engine that was asked in vain is not missing.
	}
	if p.Failed {
		return fmt.Errorf("engine %s: %s; %s", e.Name(), p.Missing, p.Fix)
	}
	if !p.OK {
		return &refusal.Error{What: "engine " + e.Name(), Why: p.Missing, Fix: p.Fix}
	}
	return s.bench.Open(ctx)
}

// Path implements dialect.Session.
func (s *session) Path(name string) string {
	if s.inPlace {
		return s.names.InPlace(name)
	}
	if len(name) > 2 && name[1] == ':' && name[2] == '\\' && filepath.Separator == '/' {
		name = s.names.InPlace(name) // A path of Windows: a file of that name in the current folder.
	}
	if abs, err := filepath.Abs(name); err == nil {
		return abs
	}
	return name
}

// Stage implements dialect.Session.
func (s *session) Stage(ctx context.Context, name string, jobs []workload.StageJob, onSample func(load.Sample)) (*workload.Result, error) {
	return s.trial(ctx, workload.Spec{Name: name, Kind: workload.Stage, Jobs: jobs}, onSample)
}

// OnStatus implements dialect.Reporter.
func (s *session) OnStatus(f func(*workload.Result)) { s.bench.OnStatus = f }

// Ask implements dialect.Reporter.
func (s *session) Ask() bool { return s.bench.Ask() }

var _ dialect.Reporter = (*session)(nil)

// Requests implements ab.Requester. Names are looked up here unless the container has names of its own, those of
// the daemon's networks.
func (s *session) Requests(ctx context.Context, spec httpload.Spec) (*httpload.Tally, error) {
	if s.bench.Engine.Name() != plan.Docker {
		var err error
		if spec.Address, err = httpload.Resolve(ctx, spec.Address); err != nil {
			return nil, err
		}
	}
	r, err := s.trial(ctx, workload.Spec{Name: "ab", Kind: workload.HTTP, HTTP: &spec}, nil)
	if err != nil {
		return nil, err
	}
	return r.HTTP, nil
}

// trial runs a workload in the container and keeps its record.
func (s *session) trial(ctx context.Context, spec workload.Spec, onSample func(load.Sample)) (*workload.Result, error) {
	ready := s.announce(spec, patience)
	defer ready() // A trial that did not begin.
	s.bench.Prepared = ready
	t, err := s.bench.Trial(ctx, spec, onSample)
	if t != nil && s.db != nil && ctx.Err() == nil {
		// The run is recorded with its first trial: one that measured nothing is none.
		perr := s.db.PutRun(*s.bench.Run)
		s.recorded = true
		if perr == nil {
			perr = s.db.PutTrial(withoutTimings(*t))
		}
		if perr != nil {
			return nil, errors.Join(err, fmt.Errorf("keep the record of %s: %w", spec.Name, perr))
		}
	}
	if err != nil {
		return nil, err
	}
	s.note(t)
	s.implied = append(s.implied, limitverdict.Implied(t, s.bench.Spec.Limits)...)
	return &t.Results[0], nil
}

var _ ab.Requester = (*session)(nil)
