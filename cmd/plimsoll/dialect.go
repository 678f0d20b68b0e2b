package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/conf/userfile"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/dialect/ab"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/fingerprint"
	"plimsoll/internal/measure/httpload"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/measure/trial"
	"plimsoll/internal/measure/triallimit"
	"plimsoll/internal/measure/witness"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/size"
	"plimsoll/load"
)

// A dialectTest is a line of another tool, parsed.
type dialectTest interface {
	// Run does it in a session and prints what the tool would.
	Run(ctx context.Context, s dialect.Session, stdout, stderr io.Writer) error
}

// A dialectTool is another tool whose lines Plimsoll takes.
type dialectTool struct {
	name, use, short, long, example string
	// web: its lines ask a server over the network, and use no storage.
	web bool
	// parse turns the tool's own arguments into a test, and reads the files that they name. destructive are the paths
	// that may be written over.
	parse func(read dialect.FileReader, args, destructive []string) (dialectTest, error)
}

// dialectCommand makes the command of a tool. The tool's own arguments aren't flags of ours.
func (a *app) dialectCommand(tool dialectTool) *cobra.Command {
	return &cobra.Command{
		Use:                tool.use,
		Short:              tool.short,
		Long:               tool.long + dialectHelp(tool),
		Example:            tool.example,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			f, rest, err := a.splitDialect(args)
			if err != nil {
				return err
			}
			if f.help || len(args) == 0 {
				return cmd.Help()
			}
			return a.runDialect(cmd.Context(), tool, f, rest, args)
		},
	}
}

// runDialect runs a tool's line.
func (a *app) runDialect(ctx context.Context, tool dialectTool, f dialectFlags, rest, args []string) error {
	if err := refuseFlags(tool, f); err != nil {
		return err
	}
	stderr := a.stderr
	if f.quiet {
		stderr = dialect.Quiet{Writer: a.stderr}
	}
	for _, n := range f.notes {
		dialect.Note(stderr, "%s", n)
	}
	test, err := tool.parse(userfile.Reader(ctx, a.stdin), rest, f.destructive)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%s: interrupted while its files were read", tool.name)
	}
	if err != nil {
		return usageError("%s: %w", tool.name, err)
	}
	if _, words := test.(wordsOnly); words || tool.web && f.here() {
		return lineError(ctx, tool.name, test.Run(ctx, nil, a.stdout, stderr))
	}
	if t, ok := test.(interface{ Elsewhere() error }); ok {
		if err := t.Elsewhere(); err != nil {
			return usageError("%s: %w", tool.name, err)
		}
	}
	s, err := a.openDialect(ctx, tool, f, args, stderr)
	if err != nil {
		return lineError(ctx, tool.name, err)
	}
	err = test.Run(ctx, s, a.stdout, stderr)
	if err := lineError(ctx, tool.name, errors.Join(err, s.close(err, ctx.Err() != nil))); err != nil {
		return err
	}
	return s.outcome(tool.name)
}

// A dialectSession is a dialect.Session on a bench.
type dialectSession struct {
	app     *app
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

// openDialect opens the container that a tool's line runs in.
func (a *app) openDialect(ctx context.Context, tool dialectTool, f dialectFlags, args []string, stderr io.Writer) (*dialectSession, error) {
	kind := f.engine
	if kind == "" {
		kind = plan.Host
	}
	e, err := a.engines().New(kind)
	if err != nil {
		return nil, err
	}
	where, err := dialectPlace(tool, f, kind)
	if err != nil {
		return nil, err
	}
	if f.limits.Name == "" {
		f.limits.Name = plan.DefaultLimits
	}
	inPlace := f.place != "" || kind != plan.Host
	if _, err := os.Getwd(); err != nil && !inPlace {
		return nil, fmt.Errorf("the current folder, where the line's files are, can't be found: %w; change to one that is there", err)
	}
	now := time.Now()
	id, err := store.NewRunID(now, rand.Reader)
	if err != nil {
		return nil, err
	}
	words := []string{"plimsoll", tool.name}
	for _, w := range args {
		words = append(words, clean.Shell(w))
	}
	s := &dialectSession{app: a, stderr: stderr, inPlace: inPlace, release: func() error { return nil }}
	s.bench = &trial.Bench{
		Engine: e, Spec: engine.Spec{Place: where, Image: f.image, Isolation: f.isolation, Limits: f.limits, Network: dialectNetwork(tool, f, kind)}, Cell: record.Cell{Engine: kind, Place: where.Name, Limits: f.limits.Name},
		Run: &record.Run{
			ID: id, Plan: tool.name, Command: strings.Join(words, " "), Version: version, Blocks: 1, Quick: true, Started: now,
			Status: record.Running, Machine: fingerprint.Machine(device.Host()), Baseline: map[string]string{},
		},
		Witness: witness.New(device.Host()), Judge: check.Judge{}, Hard: a.hardContext(), Machine: a.machine(),
	}
	if f.record {
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
func (s *dialectSession) record() (err error) {
	if s.db, err = store.Open(filepath.Join(s.app.stateDir, "plimsoll.db")); err != nil {
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
func (s *dialectSession) open(ctx context.Context) error {
	e := s.bench.Engine
	src := s.app.engines()
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
		return &exitError{exitCannot, fmt.Errorf("engine %s: %s; %s", e.Name(), p.Missing, p.Fix)}
	}
	return s.bench.Open(ctx)
}

// Path implements dialect.Session.
func (s *dialectSession) Path(name string) string {
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
func (s *dialectSession) Stage(ctx context.Context, name string, jobs []workload.StageJob, onSample func(load.Sample)) (*workload.Result, error) {
	return s.trial(ctx, workload.Spec{Name: name, Kind: workload.Stage, Jobs: jobs}, onSample)
}

// OnStatus implements dialect.Reporter.
func (s *dialectSession) OnStatus(f func(*workload.Result)) { s.bench.OnStatus = f }

// Ask implements dialect.Reporter.
func (s *dialectSession) Ask() bool { return s.bench.Ask() }

var _ dialect.Reporter = (*dialectSession)(nil)

// Requests implements ab.Requester. Names are looked up here unless the container has names of its own, those of
// the daemon's networks.
func (s *dialectSession) Requests(ctx context.Context, spec httpload.Spec) (*httpload.Tally, error) {
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
func (s *dialectSession) trial(ctx context.Context, spec workload.Spec, onSample func(load.Sample)) (*workload.Result, error) {
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
	s.implied = append(s.implied, triallimit.Implied(t, s.bench.Spec.Limits)...)
	return &t.Results[0], nil
}

// note keeps what a trial that worked says of its figures and limits.
func (s *dialectSession) note(t *record.Trial) {
	s.doubts = append(s.doubts, t.Warnings...)
	for _, r := range triallimit.Of(t) {
		if r.Verdict == judge.NotHeld {
			s.passed++
		}
	}
}

// outcome is the error of a tool's line all of which worked: that limits were not held, or nil.
func (s *dialectSession) outcome(tool string) error {
	if s.passed == 0 {
		return nil
	}
	return &exitError{exitNotHeld, fmt.Errorf("%s: %s NOT held", tool, size.Plural(s.passed, "limit"))}
}

// withoutTimings leaves the times of single requests out of a record: their histogram is in it, and they may be
// megabytes.
func withoutTimings(t record.Trial) record.Trial {
	t.Results = slices.Clone(t.Results)
	for i := range t.Results {
		if h := t.Results[i].HTTP; h != nil {
			short := *h
			short.Timings, short.InFlight = nil, nil
			t.Results[i].HTTP = &short
		}
	}
	return t
}

var _ ab.Requester = (*dialectSession)(nil)

// Finish implements dialect.Finisher.
func (s *dialectSession) Finish(ctx context.Context, quiet bool) error {
	s.quiet = quiet
	return s.close(nil, ctx.Err() != nil)
}

var _ dialect.Finisher = (*dialectSession)(nil)

// tell prints what the limits mean, and each doubt about the figures once.
func (s *dialectSession) tell() {
	if s.quiet {
		return
	}
	told := map[string]bool{}
	say := func(text string) {
		if !told[text] {
			told[text] = true
			dialect.Note(s.stderr, "%s", clean.Text(text))
		}
	}
	for _, i := range s.implied {
		say(i)
	}
	for _, w := range s.doubts {
		if w.Severity == record.Doubt {
			say("doubt (" + w.Check + "): " + w.Text)
		}
	}
}

// close ends the session and the run's record, and says what is doubtful about the figures. A second time it does nothing.
func (s *dialectSession) close(failed error, interrupted bool) error {
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.bench.Close()
	s.tell()
	if s.db == nil {
		return err
	}
	run := s.bench.Run
	run.Ended, run.Status = time.Now(), record.Done
	var lost *trial.GroundError
	if interrupted || errors.As(failed, &lost) {
		run.Status = record.Interrupted
	}
	if s.recorded {
		// A database that took no trial has the same to say again.
		if perr := s.db.PutRun(*run); perr != nil && (failed == nil || !strings.Contains(failed.Error(), perr.Error())) {
			err = errors.Join(err, perr)
		}
	}
	err = errors.Join(err, s.release(), s.db.Close())
	if err == nil && s.recorded {
		dialect.Note(s.stderr, "recorded as run %s: 'plimsoll report %s%s' shows it", run.ID, run.ID, s.app.stateFlag())
	}
	return err
}
