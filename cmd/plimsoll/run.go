package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/measure/engines"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/runs"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/measure/trial"
	"plimsoll/internal/state/paths"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/size"
	"plimsoll/plans"
)

// runFlags are the flags of plimsoll run.
type runFlags struct {
	plan        plan.Options
	out         string
	resume      bool
	json        bool
	destructive string
	// path is the folder that dir and bind are in, "" for the plan's.
	path string
	// budget is how long to measure, 0 for the plan's number of blocks.
	budget time.Duration
	// untilSettled measures on, for max at most, until all comparisons are settled.
	untilSettled bool
	max          time.Duration
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [PLAN|-]",
		Short: "Measure this machine's container storage and report what it found",
		Long: `Run runs a plan: a built-in one by its name, a file, or - for standard input. A job file of fio
is a plan too: its workloads are the jobs, its places those of the plan "places", with dir and
bind in the folder that the jobs name. Without a plan it runs "places", which answers: where may
I put my container's data on this machine, and what does each place cost?

It runs every cell of the plan once a block, in a fresh random order. It skips cells that this
machine can't run and gives the reason. If a cell fails, it keeps the cell's last output. It
records each trial as it ends, so --resume can continue an interrupted run. --resume RUN
--blocks N continues a run, also a complete one, until it has N blocks, with the same plan, seed
and machine.

With --until-settled a run goes on after its blocks, or after --for, until every comparison has a
verdict or the time of --max is over. Cells that are settled are left out then. The more often
the verdicts of a run were seen before more was measured, the more evidence they take.

The table goes to standard output, everything else to standard error.

Exit status: 0 done; 1 error; 2 bad plan or flags; 3 done, but some cells
failed; 4 done, but a limit of the plan was not held, whether cells failed or
not; 5 nothing of the plan can be done here.`,
		Example: `  plimsoll run                                 the default plan, about five minutes
  plimsoll run --quick                         the same in a minute, for large differences
  plimsoll run --path /srv/data                is this folder slow, from the host or a container?
  plimsoll run --for 20m                       as many blocks as fit into 20 minutes
  plimsoll run --until-settled --max 1h        until all is settled, an hour at most
  plimsoll run --only engine=oci --out .       only these cells; writes ./report.html
  plimsoll run my-plan.yaml --blocks 12 --json
  plimsoll run job.fio --only engine=host      the jobs of a job file of fio, in each place
  plimsoll run --resume                        continue the last interrupted run
  plimsoll run --resume last --blocks 40       more blocks, for what is inconclusive`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if f.resume {
				return a.completeRuns(cmd, args, word)
			}
			return completePlan(cmd, args, word)
		},
		Args: atMost(1, "one plan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runPlan(cmd.Context(), f, args)
		},
	}
	fl := c.Flags()
	addPlanFlags(c, &f.plan)
	fl.StringVar(&f.out, "out", "", "folder to write report.html and report.json to")
	fl.BoolVar(&f.resume, "resume", false, "continue the last run that was interrupted, or the run named in place of PLAN; with --blocks N until it has N blocks")
	fl.BoolVar(&f.json, "json", false, "print the report as JSON")
	fl.StringVar(&f.path, "path", "", "measure this `FOLDER`: it is the path of the places dir and bind")
	notEmpty(c, "path")
	fl.DurationVar(&f.budget, "for", 0, "measure for this long, such as 10m, instead of the plan's number of blocks")
	fl.BoolVar(&f.untilSettled, "until-settled", false, "after the blocks measure on what has no verdict yet, until all has one or --max is over")
	fl.DurationVar(&f.max, "max", 0, "with --until-settled: how long to measure in all (default 30m)")
	fl.StringVar(&f.destructive, "destructive", "", "allow a place to be this block device or file; its data is then lost")
	return c
}

// runPlan prepares a run, measures it, and reports.
func (a *app) runPlan(ctx context.Context, f runFlags, args []string) error {
	if err := paths.Old(a.stateDir, a.machine()); err != nil {
		return err
	}
	db, err := store.Open(filepath.Join(a.stateDir, "plimsoll.db"))
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.CheckWritable(); err != nil {
		return err
	}
	if err := f.checkTimes(); err != nil {
		return err
	}
	if err := f.setPath(); err != nil {
		return err
	}
	job, release, err := a.prepare(ctx, db, f, args)
	if err != nil {
		return err
	}
	defer release()
	if err := runs.CheckTargets(job.Plan, f.destructive); err != nil {
		return err
	}
	if err := checkOut(f.out); err != nil {
		return err
	}
	made, err := a.engines().OfPlan(job.Plan)
	if err != nil {
		return err
	}
	if err := engines.CheckImages(ctx, job.Plan, made); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "run %s: plan %s, seed %d, %s\n", job.Run.ID, job.Run.Plan, job.Run.Seed, f.timeText(job))
	a.aboutUser(job.Plan)
	runErr := job.Measure(ctx, runs.Bench{Source: a.engines(), Engines: made, Store: db, Observer: newProgress(a.stderr), Budget: f.budget, UntilSettled: f.max, Hard: a.hardContext()})
	switch {
	case errors.Is(runErr, trial.ErrNothing):
		a.explainNothing(*job.Run)
		return &exitError{exitCannot, runErr}
	case errors.Is(runErr, trial.ErrNothingYet):
		return errors.New("interrupted before anything was measured: nothing is recorded")
	}
	if runErr != nil && !errors.Is(runErr, trial.ErrInterrupted) {
		return runErr
	}
	if runErr != nil && a.hardContext().Err() != nil {
		// A user who interrupts twice doesn't want to wait for a report.
		return fmt.Errorf("%w: 'plimsoll report %s%s' shows it, 'plimsoll run --resume %[2]s%[3]s' continues it", runErr, job.Run.ID, a.stateFlag())
	}
	seen, err := a.present(db, job.Run.ID, f, runErr != nil)
	if runErr != nil {
		// The last line says how to go on, whatever else failed.
		return errors.Join(err, fmt.Errorf("%w: 'plimsoll run --resume %s%s' continues it", runErr, job.Run.ID, a.stateFlag()))
	}
	if err != nil {
		return err
	}
	return outcomeError(seen)
}

// timeText says how long a run will take.
func (f runFlags) timeText(job *runs.Job) string {
	left, more := job.Left(), len(job.Done) > 0
	if f.budget > 0 {
		left = f.budget
	}
	text := fmt.Sprintf("about %s%s if every cell can be measured", size.Duration(left.Round(time.Second)), map[bool]string{true: " left"}[more])
	switch {
	case !f.untilSettled:
		return text
	case more && left < time.Second:
		return "until all is settled, " + size.Duration(f.max) + " at most"
	}
	return text + ", then until all is settled, " + size.Duration(f.max) + " in all at most"
}

// setPath makes --path a whole path: the command that repeats the run may be run in another folder.
func (f *runFlags) setPath() error {
	if f.path == "" {
		return nil
	}
	if f.resume {
		return usageError("--path is for a new run: a run goes on in its own folders")
	}
	path, err := filepath.Abs(f.path)
	if err != nil {
		return err
	}
	f.plan.Path = path
	return nil
}

// leastBudget is the shortest --for: a block of the default plan takes twelve seconds.
const leastBudget = 10 * time.Second

// defaultMax is --max's.
const defaultMax = 30 * time.Minute

// checkTimes checks --for, --until-settled and the flags beside them, and sets the default of --max.
func (f *runFlags) checkTimes() error {
	switch {
	case !f.untilSettled && f.max != 0:
		return usageError("--max is how long --until-settled may take: add --until-settled, or use --for")
	case !f.untilSettled:
	case f.max == 0:
		f.max = max(defaultMax, 2*f.budget)
	case f.max < leastBudget:
		return usageError("--max %v is too short for anything: at least %v", f.max, leastBudget)
	case f.budget >= f.max:
		return usageError("--for %v is when --until-settled looks first, and --max %v when it ends: make --max longer", f.budget, f.max)
	}
	switch {
	case f.budget == 0:
		return nil
	case f.budget < leastBudget:
		return usageError("--for %v is too short for anything: at least %v, and six blocks of the default plan take about a minute and a half; --quick looks for less", f.budget, leastBudget)
	case f.plan.Blocks != "":
		return usageError("--for and --blocks both say how much to measure: leave one out")
	case f.resume:
		return usageError("--for is for a new run: --resume RUN --blocks N adds blocks to one")
	}
	return nil
}

// prepare creates a new run, or finds the one to resume. The run is owned by this process until release is called.
func (a *app) prepare(ctx context.Context, db *store.Store, f runFlags, args []string) (job *runs.Job, release func() error, err error) {
	c := runs.Command{Args: args, Plan: f.plan, Destructive: f.destructive}
	if f.budget > 0 {
		c.For = f.budget.String()
	}
	if f.untilSettled {
		c.Max = f.max.String()
	}
	if a.stateDir != paths.State() {
		c.State = a.stateDir
	}
	if f.resume {
		return runs.Resume(db, first(args, ""), c)
	}
	file, text, err := a.readPlan(ctx, first(args, plans.Default))
	if err != nil {
		return nil, nil, err
	}
	if job, err = runs.New(file, text, c, version); err != nil {
		return nil, nil, err
	}
	release, err = db.Own(job.Run.ID)
	return job, release, err
}

// explainNothing lists why every cell was skipped.
func (a *app) explainNothing(run record.Run) {
	seen := map[string]bool{}
	for _, s := range run.Skipped {
		if !seen[s.Reason] {
			seen[s.Reason] = true
			fmt.Fprintf(a.stderr, "skipped %s/%s: %s\n", s.Cell.Engine, s.Cell.Places(), clean.Short(s.Reason))
		}
	}
}
