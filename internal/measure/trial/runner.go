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
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
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
	// Observer may be nil: nothing is reported. Without a Judge there are no doubts, without a
	// Witness nothing is known of what happened below.
	Observer Observer
	Judge    Judge
	Witness  Witness
	// Hard is cancelled when cleaning up must be quick; nil: it never must.
	Hard context.Context
	// Done holds the keys and blocks that an earlier part of the run measured.
	Done map[Key]bool
	// StateDir is where the disks of places with a device of their own are kept; empty: there are none.
	StateDir string
	// Machine is the folder of what is recorded of the machine's device-wide limits; empty: a run's are not recorded.
	Machine string
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
	// failed says of engines that are here and fail what they were seen to do, by the plan's names: their cells fail with it. To ask them again
	// for each cell and block would take their whole patience each time.
	failed map[string]error
	// disks are those of the places, by name, with why there is none.
	disks map[string]ownDisk
}

// A Key names a trial within a run.
type Key struct {
	Cell  string
	Block int
}

// ErrInterrupted is returned when the context ended before the run did.
var ErrInterrupted = errors.New("interrupted; its trials are kept")

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
		err = errors.Join(err, last) // Else it is what stopped the run, once more.
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
			t, err := r.trial(ctx, cell, b, b*len(all)+k)
			if ctx.Err() != nil {
				return ErrInterrupted // It was cut short: it shows nothing.
			}
			// Going on would use up all trials of the engine in seconds, and its cells would be compared
			// with others that were measured in another hour. One that failed from the beginning has nothing to compare.
			if r.failed[cell.Engine] != nil {
				err = nil
			}
			if why := lostGround(ctx, cell.Engine, r.Engines[cell.Engine], r.sessions(cell)[0].spec, err); why != nil {
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

// lacking reports whether a cell that an earlier part of the run measured has not all of its blocks.
func (r *Runner) lacking() bool {
	for _, c := range r.Plan.Cells() {
		done := 0
		for b := range r.Plan.Blocks {
			if r.Done[Key{r.Plan.Key(c), b}] {
				done++
			}
		}
		if done > 0 && done < r.Plan.Blocks {
			return true
		}
	}
	return false
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
