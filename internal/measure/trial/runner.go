// Package trial runs a plan: it opens a container for every combination of engine, place, limits and client, runs each cell
// once a block, the cells of a workload together in a fresh random order, and keeps a record of every trial as soon as it ends.
//
// The unit of replication is a trial: one cell, one block, a fresh process for the I/O in a container that is new in each
// block. A cell that can't be offered is skipped with the reason. A trial that fails is kept with its last log lines, and
// the run goes on. An interrupted run keeps all that was measured.
package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

// A Recorder keeps records. Each call must be durable when it returns.
type Recorder interface {
	PutRun(record.Run) error
	PutTrial(record.Trial) error
}

// An Observer receives the progress of a run, for the terminal. Its methods are called from one goroutine.
type Observer interface {
	// Note reports a fact about the run as a whole.
	Note(text string)
	// Plan reports how many trials the run has in how many blocks, and how many of them an earlier part of it has measured.
	Plan(trials, blocks, done int)
	// Trial reports that a trial has ended, the n-th of all.
	Trial(n int, t *record.Trial)
}

// nobody is the default Observer: it ignores all reports.
type nobody struct{}

func (nobody) Note(string)              {}
func (nobody) Plan(int, int, int)       {}
func (nobody) Trial(int, *record.Trial) {}

// A Judge raises doubts about records.
type Judge interface {
	Trial(t *record.Trial, run *record.Run) []record.Warning
	Run(run *record.Run, trials []record.Trial) []record.Warning
}

// A Witness observes what happens below the application.
type Witness interface {
	// Before is called when the agents are ready, and the function that it returns after they have ended. That function
	// fills in t.Where, and t.Truth if there are results, with one entry for each agent. target is the file or device under
	// test, if the plan names one.
	Before(agents []*agent.Agent, target string) func(t *record.Trial)
}

// A Runner runs one plan once.
type Runner struct {
	Plan *plan.Plan
	// Engines are the plan's engines, by the plan's names.
	Engines  map[string]engine.Engine
	Recorder Recorder
	// Observer may be nil: nothing is reported. Without a Judge there are no doubts, without a Witness nothing is known of
	// what happened below.
	Observer Observer
	Judge    Judge
	Witness  Witness
	// Budget is how long to measure. After its first block the run gets as many blocks as fit. 0: as many as the plan has.
	Budget time.Duration
	// Review, unless nil, is called after half of the blocks and after the last one.
	Review func(Progress) Review
	// Hard is cancelled when there is no more time for cleaning up; nil: there always is.
	Hard context.Context
	// Done holds the keys and blocks that an earlier part of the run measured.
	Done map[Key]bool
	// StateDir is where the disks of places with a device of their own are kept; empty: there are none.
	StateDir string
	// Machine is the folder in which the machine's device-wide limits are recorded; empty: the run's are not recorded.
	Machine string
	// Earlier holds the trials of the run's earlier part, for the checks of the whole run.
	Earlier []record.Trial

	run *record.Run
	// begun is set when the run is recorded: with its first trial, or by an earlier part.
	begun  bool
	cells  []record.Cell
	pool   *pool
	trials []record.Trial
	// room checks that the files of all cells fit.
	room   *ledger
	engine map[string]workload.Spec // by workload, with the I/O engine chosen
	// failed holds the errors of engines that are installed but fail, by the plan's names; their cells fail with that
	// error. Asking such an engine again for each cell and block would take its whole patience each time.
	failed map[string]error
	// disks are the disks of places, by name, or why there is none.
	disks map[string]ownDisk
}

// A Key identifies a trial within a run.
type Key struct {
	Cell  string
	Block int
}

// ErrInterrupted is returned when the context ended before the run did.
var ErrInterrupted = errors.New("interrupted; its trials are kept")

// ErrNothing is returned when no cell of the plan can be measured here; the run's Skipped has the reasons. ErrNothingYet is
// returned with ErrInterrupted when the context ended before the first trial did.
var (
	ErrNothing    = errors.New("no cell of the plan can be measured here")
	ErrNothingYet = errors.New("nothing was measured yet")
)

// Run runs the plan and fills in run, which the caller has begun (ID, seed, plan text, machine). It returns ErrInterrupted
// when ctx ended, or ErrNothing. It returns other errors only if records can't be kept or cleaning up failed.
//
// A run is recorded with its first trial. A run without trials would become "the last run", with nothing to report or
// resume.
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
	r.pool = newPool(r.Engines, run.ID, r.Machine, r.Hard)
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
	err = errors.Join(err, r.pool.closeAll(), r.closeDisks())
	if !r.begun {
		if errors.Is(err, ErrInterrupted) {
			err = errors.Join(err, ErrNothingYet)
		}
		return err
	}
	if last := r.finish(); last != nil && (err == nil || !strings.Contains(err.Error(), last.Error())) {
		err = errors.Join(err, last) // Otherwise it is the error that stopped the run, again.
	}
	return err
}

// measure prepares the run and then runs its blocks.
func (r *Runner) measure(ctx context.Context) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	if len(r.cells) == 0 && (len(r.Earlier) == 0 || r.lacking()) {
		return ErrNothing
	}
	if r.begun {
		// With the findings about this part of the run.
		if err := r.Recorder.PutRun(*r.run); err != nil {
			return err
		}
	}
	r.Observer.Plan(r.trialsIn(r.Plan.Blocks), r.Plan.Blocks, r.measured())
	// The order covers all cells of the plan, so that it stays the same when a run is resumed with other engines working.
	all := r.Plan.Cells()
	n, began := 0, time.Now()
	for b := 0; b < r.Plan.Blocks; b++ {
		before := len(r.trials)
		for k, i := range order(r.run.Seed, b, all) {
			cell := all[i]
			key := r.Plan.Key(cell)
			if !slices.Contains(r.cells, cell) || !r.run.MeasuredIn(key, b) {
				continue
			}
			n++
			if ctx.Err() != nil {
				return ErrInterrupted
			}
			if r.Done[Key{key, b}] {
				continue
			}
			t, err := r.trial(ctx, cell, b, b*len(all)+k)
			if ctx.Err() != nil {
				return ErrInterrupted // The trial was cut short, and shows nothing.
			}
			// Going on would use up all trials of the engine in seconds, and a resumed run would compare its cells with
			// others measured in another hour. An engine that failed from the beginning has nothing to compare.
			if r.failed[cell.Engine] != nil {
				err = nil
			}
			if why := lostEnvironment(ctx, cell.Engine, r.Engines[cell.Engine], r.sessions(cell)[0].spec, err); why != nil {
				if !r.begun {
					r.Observer.Note(why.Error()) // No trial was recorded, so there is no run to interrupt.
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
		r.fit(b+1, time.Since(began))
		if err := r.review(b+1, time.Since(began), len(r.trials) > before); err != nil {
			return err
		}
	}
	return nil
}

// lacking reports whether a cell that an earlier part of the run measured lacks some of its blocks.
func (r *Runner) lacking() bool {
	for _, c := range r.Plan.Cells() {
		done := 0
		for b := range r.Plan.Blocks {
			if key := r.Plan.Key(c); r.Done[Key{key, b}] || !r.run.MeasuredIn(key, b) {
				done++
			}
		}
		if done > 0 && done < r.Plan.Blocks {
			return true
		}
	}
	return false
}

// trialsIn counts the trials of the first blocks.
func (r *Runner) trialsIn(blocks int) int {
	n := 0
	for _, c := range r.cells {
		for b := range blocks {
			if r.run.MeasuredIn(r.Plan.Key(c), b) {
				n++
			}
		}
	}
	return n
}

// measured counts the trials of the plan that an earlier part has measured.
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
