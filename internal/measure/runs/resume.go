package runs

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/engine/seccomp"
	"plimsoll/internal/measure/fingerprint"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/measure/trial"
	"plimsoll/internal/text/size"
	"plimsoll/internal/text/usage"
	"plimsoll/plans"
)

// Resume finds the run to go on with, and makes this process its owner until release is called. ref names the run; ""
// means the last one that was interrupted. c has the flags; those that would change the stored plan are refused.
// --blocks is not among these: it sets the total number of blocks of the run, and more blocks make its result more
// precise. Errors of the user's are *usage.Errors.
func Resume(db *store.Store, ref string, c Command) (job *Job, release func() error, err error) {
	if c.Plan.Quick || c.Plan.Only != "" || len(c.Plan.Set) > 0 || c.Plan.Seed != "" {
		return nil, nil, usage.Errorf("--resume goes on with a run as it was begun: leave out --quick, --only, --set and --seed")
	}
	id, err := findResumable(db, ref, c)
	if err != nil {
		return nil, nil, err
	}
	if release, err = db.Own(id); err != nil {
		return nil, nil, err
	}
	if job, err = load(db, id, c.Plan.Blocks, c.Max != ""); err != nil {
		return nil, nil, errors.Join(err, release())
	}
	return job, release, nil
}

// findResumable returns the id of the run that ref names, or of the last one that was interrupted.
func findResumable(db *store.Store, ref string, c Command) (string, error) {
	flags := c.stateFlag()
	if ref != "" {
		id, err := db.Resolve(ref)
		var unknown *store.RefError
		if errors.As(err, &unknown) {
			unknown.Flags = flags
		}
		if unknown != nil && isPlan(ref) {
			return "", usage.Errorf("%s is a plan, and --resume takes a run, whose plan was kept with it: %w", ref, err)
		}
		if err != nil {
			return "", usage.Errorf("%w", err)
		}
		return id, nil
	}
	runs, err := db.Runs(store.Filter{})
	if err != nil {
		return "", err
	}
	for _, run := range runs { // Newest first.
		// A command line of another tool has no plan to go on with.
		if run.Status != record.Done && !run.Alive && run.PlanText != "" {
			return run.ID, nil
		}
	}
	if blocks := c.Plan.Blocks; blocks != "" {
		return "", usage.Errorf("no run was interrupted or killed: name the run that is to have %s blocks, as in 'plimsoll run --resume last --blocks %[1]s%[2]s'", blocks, flags)
	}
	return "", usage.Errorf("no run was interrupted or killed: there is nothing to resume")
}

// isPlan reports whether an argument names a built-in plan or a file.
func isPlan(arg string) bool {
	st, err := os.Stat(arg)
	return slices.Contains(plans.Names(), arg) || err == nil && st.Mode().IsRegular()
}

// load reads run id with its measurements so far. blocks, unless empty, is the total number of blocks. A run that goesOn until it is settled may
// be complete.
func load(db *store.Store, id, blocks string, goesOn bool) (*Job, error) {
	run, err := db.Run(id)
	if err != nil {
		return nil, err
	}
	if run.PlanText == "" {
		return nil, usage.Errorf("run %s has no plan to go on with: 'plimsoll run' did not begin it", id)
	}
	p, err := plan.ParseWith("the plan of run "+id, []byte(run.PlanText), plan.Options{Blocks: blocks, Seccomp: seccomp.Check})
	if err != nil {
		return nil, usage.Errorf("%w", err)
	}
	switch {
	case blocks != "" && p.Blocks < run.Blocks:
		return nil, usage.Errorf("run %s has %s: --blocks is how many it is to have in all, %d or more", id, size.Plural(run.Blocks, "block"), run.Blocks+1)
	case run.Status == record.Done && p.Blocks == run.Blocks && !goesOn:
		return nil, usage.Errorf("run %s is complete with %s: there is nothing to resume; --blocks %d adds some, --until-settled as many as it takes", id, size.Plural(run.Blocks, "block"), run.Blocks+plan.DefaultBlocks)
	}
	if diff := fingerprint.Same(run.Machine, fingerprint.Machine(device.Host())); len(diff) > 0 {
		return nil, usage.Errorf("run %s was begun on another machine (%s): begin a new one", id, strings.Join(diff, "; "))
	}
	if p.Blocks != run.Blocks {
		run.Blocks, run.Quick = p.Blocks, p.Blocks < plan.DefaultBlocks
		run.PlanText, run.Command = string(p.Marshal()), withBlocks(run.Command, p.Blocks)
	}
	trials, err := db.Trials(id, store.TrialsOptions{})
	if err != nil {
		return nil, err
	}
	job := &Job{Run: &run, Plan: p, Done: map[trial.Key]bool{}, earlier: trials}
	for _, t := range trials {
		// A failed trial is a result too, and is not retried.
		job.Done[trial.Key{Cell: t.Key, Block: t.Block}] = true
	}
	run.Warnings = nil // They are determined again, over all trials.
	return job, nil
}

// withBlocks returns the command that repeats a run with that many blocks. A command that takes the plan from the
// record finds the blocks there.
func withBlocks(command string, blocks int) string {
	const flag, before = " --blocks ", " --seed "
	if strings.Contains(command, " | ") {
		return command
	}
	if i := strings.Index(command, flag); i >= 0 {
		rest := command[i+len(flag):]
		if j := strings.IndexByte(rest, ' '); j >= 0 {
			return command[:i+len(flag)] + strconv.Itoa(blocks) + rest[j:]
		}
		return command[:i+len(flag)] + strconv.Itoa(blocks)
	}
	i := strings.LastIndex(command, before)
	if i < 0 {
		return command // Not a command of plimsoll run.
	}
	return command[:i] + flag + strconv.Itoa(blocks) + command[i:]
}
