// Package trial runs a plan: it opens a container for every combination of
// engine, place, limits and client, runs each cell once a block in a fresh
// random order, and keeps a record of every trial as soon as it ends.
//
// The unit of replication is a trial: one cell, one block, a fresh process for
// the I/O in a container that is new in each block. What can't be offered is
// skipped with the reason; what fails is kept with its last words and the run
// goes on; what is interrupted keeps all that was measured.
package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/agent"
	"plimsoll/internal/engine"
	"plimsoll/internal/place"
	"plimsoll/internal/plan"
	"plimsoll/internal/record"
	"plimsoll/internal/workload"
)

// A Recorder keeps records. Each call has to be durable when it returns.
type Recorder interface {
	PutRun(record.Run) error
	PutTrial(record.Trial) error
}

// An Observer is told what happens, for the terminal. Its methods are called
// from one goroutine.
type Observer interface {
	// Note is a sentence about the run as a whole.
	Note(text string)
	// Plan says how many trials the run has in how many blocks, and how many of them an
	// earlier part of it has measured.
	Plan(trials, blocks, done int)
	// Trial says that one has ended, the n-th of all.
	Trial(n int, t *record.Trial)
}

// nobody is the Observer of a run that nobody watches.
type nobody struct{}

func (nobody) Note(string)              {}
func (nobody) Plan(int, int, int)       {}
func (nobody) Trial(int, *record.Trial) {}

// A Judge raises doubts about records.
type Judge interface {
	Trial(t *record.Trial, run *record.Run) []record.Warning
	Run(run *record.Run, trials []record.Trial) []record.Warning
}

// A Witness tells what happened below the application.
type Witness interface {
	// Before is called when the agents are ready, and the function that it
	// returns after they have ended; that fills in t.Where, and t.Truth if there are
	// results, with one entry an agent. target is the file or device under test, if the
	// plan names one itself.
	Before(agents []*agent.Agent, target string) func(t *record.Trial)
}

// A Runner runs one plan once.
type Runner struct {
	Plan *plan.Plan
	// Engines are the plan's, by the plan's names.
	Engines  map[string]engine.Engine
	Recorder Recorder
	// Observer may be nil: nobody is told. Without a Judge there are no doubts, without a
	// Witness nothing is known of what happened below.
	Observer Observer
	Judge    Judge
	Witness  Witness
	// Hard is cancelled when cleaning up must be quick; nil: it never must.
	Hard context.Context
	// Done holds the keys and blocks that an earlier part of the run measured.
	Done map[Key]bool
	// Earlier holds the trials of that part, for the checks of the whole run.
	Earlier []record.Trial

	run *record.Run
	// begun is set when the run is recorded: with its first trial, or by the part before.
	begun  bool
	cells  []record.Cell
	pool   *pool
	trials []record.Trial
	// room is what the files of all cells need.
	room   *ledger
	engine map[string]workload.Spec // by workload, with the I/O engine chosen
}

// A Key names a trial within a run.
type Key struct {
	Cell  string
	Block int
}

// ErrInterrupted is returned when the context ended before the run did.
var ErrInterrupted = errors.New("interrupted; what was measured is kept")

// ErrNothing is returned when not one cell of the plan can be offered here;
// the run's Skipped has the reasons. ErrNothingYet is returned with ErrInterrupted when the
// context ended before the first trial did.
var (
	ErrNothing    = errors.New("nothing of the plan can be measured here")
	ErrNothingYet = errors.New("nothing was measured yet")
)

// Run runs the plan and fills in run, which the caller has begun (ID, seed,
// plan text, machine). It returns ErrInterrupted when ctx ended, ErrNothing, and
// an error of its own only when records can't be kept or cleaning up failed.
//
// A run is recorded with its first trial: one without any would be "the last run",
// with nothing to report and nothing to go on with.
func (r *Runner) Run(ctx context.Context, run *record.Run) error {
	r.run = run
	if r.Observer == nil {
		r.Observer = nobody{}
	}
	if r.Hard == nil {
		r.Hard = context.Background()
	}
	run.Status = record.Running
	run.Ended = time.Time{}
	r.beginSession(time.Now())
	r.pool = &pool{engines: r.Engines, run: run.ID, hard: r.Hard, agents: map[string]*agent.Agent{}}
	if len(r.Earlier) > 0 {
		if err := r.begin(); err != nil {
			return err
		}
	}
	err := r.measure(ctx)
	r.run.Status = record.Done
	if err != nil {
		r.run.Status = record.Interrupted // It can be resumed.
	}
	err = errors.Join(err, r.pool.closeAll())
	if !r.begun {
		if errors.Is(err, ErrInterrupted) {
			err = errors.Join(err, ErrNothingYet)
		}
		return err
	}
	if last := r.finish(); last != nil && (err == nil || !strings.Contains(err.Error(), last.Error())) {
		err = errors.Join(err, last) // Else it is what stopped the run, once more.
	}
	return err
}

// beginSession notes when this process began to measure. A session before it that
// has no end was killed: it ends with its last trial.
func (r *Runner) beginSession(now time.Time) {
	if n := len(r.run.Sessions); n > 0 && r.run.Sessions[n-1].Ended.IsZero() {
		killed := &r.run.Sessions[n-1]
		killed.Ended = killed.Started
		for _, t := range r.Earlier {
			if end := t.Started.Add(t.Wall); end.After(killed.Ended) {
				killed.Ended = end
			}
		}
	}
	r.run.Sessions = append(r.run.Sessions, record.Session{Started: now})
}

// begin records the run, once.
func (r *Runner) begin() error {
	if r.begun {
		return nil
	}
	if err := r.Recorder.PutRun(*r.run); err != nil {
		return err
	}
	r.begun = true
	return nil
}

// measure probes and then runs the blocks.
func (r *Runner) measure(ctx context.Context) error {
	skipped := r.run.Skipped
	r.probe(ctx)
	if ctx.Err() != nil {
		// An engine that was asked in vain is not missing.
		r.run.Skipped = skipped
		return ErrInterrupted
	}
	if err := r.preflight(ctx); err != nil {
		return err
	}
	if len(r.cells) == 0 && len(r.Earlier) == 0 {
		return ErrNothing
	}
	if r.begun {
		// With what was found out about this part of the run.
		if err := r.Recorder.PutRun(*r.run); err != nil {
			return err
		}
	}
	r.Observer.Plan(len(r.cells)*r.Plan.Blocks, r.Plan.Blocks, r.measured())
	// The order is over all cells of the plan, so that it is the same when a run is
	// resumed while another set of engines works.
	all := r.Plan.Cells()
	n := 0
	for b := range r.Plan.Blocks {
		for k, i := range order(r.run.Seed, b, len(all)) {
			cell := all[i]
			if !slices.Contains(r.cells, cell) {
				continue
			}
			n++
			key := r.Plan.Key(cell)
			if ctx.Err() != nil {
				return ErrInterrupted
			}
			if r.Done[Key{key, b}] {
				continue
			}
			t, err := r.try(ctx, cell, b, b*len(all)+k)
			if ctx.Err() != nil {
				return ErrInterrupted // It was cut short: it shows nothing.
			}
			// Going on would use up all trials of the engine in seconds, and its cells would be compared
			// with others that were measured in another hour.
			if why := lostGround(ctx, cell.Engine, r.Engines[cell.Engine], r.seats(cell)[0].spec, err); why != nil {
				if !r.begun {
					r.Observer.Note(why.Error()) // There is no run that could be said to be broken off.
				}
				return fmt.Errorf("%w; %w", ErrInterrupted, why)
			}
			if err := r.keep(t); err != nil {
				return err
			}
			r.Observer.Trial(n, t)
		}
		if err := r.pool.closeAll(); err != nil {
			r.warn(record.Doubt, "cleanup", err.Error())
		}
	}
	return nil
}

// probe asks the engines, and drops the cells of those that don't work here.
func (r *Runner) probe(ctx context.Context) {
	probes := map[string]engine.Probe{}
	for name, e := range r.Engines {
		if left, err := e.Sweep(ctx); err != nil {
			r.warn(record.Note, "sweep", fmt.Sprintf("leftovers of an earlier run with engine %s could not be removed: %v", name, err))
		} else {
			for _, l := range left {
				r.Observer.Note("removed what an earlier run left behind: " + l)
			}
		}
		probes[name] = e.Probe(ctx)
	}
	for _, c := range r.Plan.Cells() {
		if p := probes[c.Engine]; !p.OK {
			reason := p.Missing
			if p.Fix != "" {
				reason += "; " + p.Fix
			}
			r.skip(c, reason)
			continue
		}
		if w, _ := r.Plan.Workload(c.Workload); r.target(c) != "" && w.Kind != workload.Block {
			r.skip(c, fmt.Sprintf("workload %s needs a folder, and place %s is a file or a device", c.Workload, c.Place))
			continue
		}
		r.cells = append(r.cells, c)
	}
}

// target returns the file or block device that a cell's place is, or "" for the
// usual case of a folder. Whoever calls Run has made sure that its data may be lost.
func (r *Runner) target(c record.Cell) string {
	p, _ := r.Plan.Place(c.Place)
	if p.Kind != place.Dir || p.Path == "" {
		return ""
	}
	if st, err := os.Stat(p.Path); err != nil || st.IsDir() {
		return ""
	}
	return p.Path
}

// skip notes a cell that can't be offered.
func (r *Runner) skip(c record.Cell, reason string) {
	for _, s := range r.run.Skipped {
		if s.Cell == c {
			return // Known from the part of the run before it was resumed.
		}
	}
	r.run.Skipped = append(r.run.Skipped, record.Skip{Cell: c, Reason: reason})
}

// preflight opens the first block's containers, drops the cells that their
// engine can't offer and those whose files don't fit, and chooses the I/O engines.
func (r *Runner) preflight(ctx context.Context) error {
	var offered []record.Cell
	found := map[string][]probed{}
	r.room = newLedger()
	for _, c := range r.cells {
		agents, _, err := r.agents(ctx, c)
		if ctx.Err() != nil {
			return ErrInterrupted
		}
		var u *engine.Unsupported
		if errors.As(err, &u) {
			r.skip(c, u.Error())
			continue
		}
		if err == nil {
			if why := r.room.take(r, c, agents); why != "" {
				r.skip(c, why)
				continue
			}
		}
		offered = append(offered, c)
		if err != nil {
			continue // It will fail in each block, and keep its error there.
		}
		for _, a := range agents {
			found[c.Workload] = append(found[c.Workload], probed{r.Plan.Key(c), a.Hello.Probes})
		}
	}
	r.cells = offered
	r.choose(found)
	r.ceiling(ctx)
	return nil
}

// measured counts the trials that are to be run and have been already.
func (r *Runner) measured() int {
	n := 0
	for _, c := range r.cells {
		for b := range r.Plan.Blocks {
			if r.Done[Key{r.Plan.Key(c), b}] {
				n++
			}
		}
	}
	return n
}

// choose settles the I/O engine of each block workload.
func (r *Runner) choose(found map[string][]probed) {
	r.engine = map[string]workload.Spec{}
	if r.run.IOEngine == nil {
		r.run.IOEngine = map[string]record.EngineChoice{}
	}
	for _, spec := range r.Plan.Workloads {
		// The record shows what was run, not what the plan left out.
		spec = spec.WithDefaults()
		if spec.Kind == workload.Block || spec.Kind == "" {
			want := spec.Job.IOEngine
			if want == "" {
				want = r.Plan.IOEngine
			}
			choice := chooseEngine(spec, want, found[spec.Name])
			if before, ok := r.run.IOEngine[spec.Name]; ok && len(r.Earlier) > 0 {
				choice = before // A resumed run's blocks are compared with those before.
			}
			spec.Job.IOEngine = choice.Engine
			if len(found[spec.Name]) > 0 {
				r.run.IOEngine[spec.Name] = choice
			}
		}
		r.engine[spec.Name] = spec
	}
}

// keep judges a trial and records it.
func (r *Runner) keep(t *record.Trial) error {
	if r.Judge != nil {
		t.Warnings = append(t.Warnings, r.Judge.Trial(t, r.run)...)
	}
	r.trials = append(r.trials, withoutHistograms(*t))
	if err := r.begin(); err != nil {
		return err
	}
	if err := r.Recorder.PutTrial(*t); err != nil {
		return fmt.Errorf("keep the record of %s, %s: %w", t.Key, record.BlockName(t.Block), err)
	}
	return nil
}

// withoutHistograms is a trial for the checks of the whole run, which look at no
// latencies: thousands of trials with them would fill the memory of the machine
// that is being measured.
func withoutHistograms(t record.Trial) record.Trial {
	t.Results = slices.Clone(t.Results)
	for i := range t.Results {
		classes := slices.Clone(t.Results[i].Classes)
		for j := range classes {
			classes[j].Lat, classes[j].Response = nil, nil
		}
		t.Results[i].Classes = classes
	}
	return t
}

// warn attaches a doubt to the run.
func (r *Runner) warn(severity, check, text string) {
	for _, w := range r.run.Warnings {
		if w.Check == check && w.Text == text {
			return
		}
	}
	r.run.Warnings = append(r.run.Warnings, record.Warning{Check: check, Severity: severity, Text: text})
}

// finish records how the run ended.
func (r *Runner) finish() error {
	r.run.Ended = time.Now()
	r.run.Sessions[len(r.run.Sessions)-1].Ended = r.run.Ended
	if r.Judge != nil {
		r.run.Warnings = append(r.run.Warnings, r.Judge.Run(r.run, slices.Concat(r.Earlier, r.trials))...)
	}
	return r.Recorder.PutRun(*r.run)
}
