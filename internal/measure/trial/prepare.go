package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/refusal"
)

// prepare finds out which cells can be measured here, and why others can't. It does so in each part of a run, since other
// engines may work by now. After an interrupt it keeps nothing: an engine that did not get to answer is not missing.
func (r *Runner) prepare(ctx context.Context) error {
	before := r.run.Skipped
	r.run.Skipped = nil
	r.probe(ctx)
	err := ctx.Err()
	if err == nil {
		err = r.preflight(ctx)
	}
	if err != nil {
		r.run.Skipped = before
		return ErrInterrupted
	}
	return nil
}

// probe probes the engines. It drops the cells of engines that are missing; cells of an engine that is installed but fails
// stay, to fail.
func (r *Runner) probe(ctx context.Context) {
	probes := map[string]engine.Probe{}
	r.failed = map[string]error{}
	for name, e := range r.Engines {
		left, err := e.Sweep(ctx)
		if err != nil {
			r.warn(record.Note, "sweep", fmt.Sprintf("leftovers of an earlier run with engine %s could not be removed: %v", name, err))
		}
		for _, l := range left {
			r.Observer.Note("removed the leftovers of an earlier run: " + l)
		}
		probes[name] = e.Probe(ctx)
	}
	for _, c := range r.Plan.Cells() {
		if p := probes[c.Engine]; !p.OK {
			reason := p.Missing
			if p.Fix != "" {
				reason += "; " + p.Fix
			}
			if !p.Failed {
				r.skip(c, reason)
				continue
			}
			r.failed[c.Engine] = errors.New(reason)
		}
		if w, _ := r.Plan.Workload(c.Workload); r.target(c) != "" && (w.Kind != workload.Block || w.Fresh) {
			r.skip(c, fmt.Sprintf("workload %s needs a folder, and place %s is a file or a device", c.Workload, c.Place))
			continue
		}
		if from := (record.Cell{Place: c.Source}); r.target(from) != "" {
			r.skip(c, fmt.Sprintf("sources need a folder, and place %s is a file or a device", c.Source))
			continue
		}
		r.cells = append(r.cells, c)
	}
}

// target returns the path of a cell's place if it is a file or block device, "" if it is a folder, as usual. The caller of
// Run has made sure that its data may be overwritten.
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

// skip notes a cell that can't be measured here.
func (r *Runner) skip(c record.Cell, reason string) {
	r.run.Skipped = append(r.run.Skipped, record.Skip{Cell: c, Reason: reason})
}

// preflight opens the first block's containers, drops the cells that their engine can't offer and those whose files don't
// fit, and chooses the I/O engines.
func (r *Runner) preflight(ctx context.Context) error {
	var offered []record.Cell
	found := map[string][]probed{}
	r.room = newLedger()
	r.makeDisks(ctx)
	for _, c := range r.cells {
		if why := cmp.Or(r.disks[c.Place].why, r.disks[c.Source].why); why != "" {
			r.skip(c, why)
			continue
		}
		agents, _, err := r.agents(ctx, c)
		if err := ctx.Err(); err != nil {
			return err
		}
		var u *refusal.Error
		if errors.As(err, &u) {
			r.skip(c, u.Error())
			continue
		}
		if err == nil {
			if why := r.lacksProgram(ctx, c, agents); why != "" {
				r.skip(c, why)
				continue
			}
			if why := r.room.take(r, c, agents); why != "" {
				r.skip(c, why)
				continue
			}
		}
		offered = append(offered, c)
		if err != nil {
			continue // The cell fails in each block, and keeps its error there.
		}
		found[c.Workload] = append(found[c.Workload], r.tryEngines(ctx, c, agents)...)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	r.cells = offered
	r.choose(found)
	r.ceiling(ctx)
	return nil
}

// lacksProgram says why the program of a cell can't be run in it; empty if it can, or there is none.
func (r *Runner) lacksProgram(ctx context.Context, c record.Cell, agents []*agent.Agent) string {
	w, _ := r.Plan.Workload(c.Workload)
	if w.Command == nil || len(agents) == 0 {
		return ""
	}
	_, err := agents[0].Find(ctx, *w.Command)
	if !errors.Is(err, workload.ErrNoProgram) {
		return "" // Other errors show in the trial.
	}
	program := w.Command.Argv[0]
	e, _ := r.Plan.Engine(c.Engine)
	switch {
	case e.Engine == plan.Host:
		return fmt.Sprintf("there is no program %s on this machine; install it", program)
	case e.Engine == plan.VM:
		return fmt.Sprintf("there is no program %s in the virtual machine, which has only the worker; use another kind of workload there", program)
	case e.Image == "":
		return fmt.Sprintf("there is no program %s in the container, which has only the worker; name an image that has it (image: of the engine %s)", program, c.Engine)
	}
	return fmt.Sprintf("there is no program %s in the image %s; name one that has it", program, e.Image)
}

// tryEngines makes the workers of a block cell try the I/O engines, and returns their answers. It runs once a run, in the
// first block's containers; those of later blocks are the same. A worker that doesn't answer is dropped, and the next block
// starts a new one.
func (r *Runner) tryEngines(ctx context.Context, c record.Cell, agents []*agent.Agent) []probed {
	if w, _ := r.Plan.Workload(c.Workload); w.Kind != workload.Block && w.Kind != "" {
		return nil
	}
	var found []probed
	for i, s := range r.sessions(c) {
		ctx, cancel := context.WithTimeoutCause(ctx, openTimeout, fmt.Errorf("no answer within %v", openTimeout))
		probes, err := agents[i].Probe(ctx)
		cancel()
		if err != nil {
			r.warn(record.Note, "probe", fmt.Sprintf("%s: %v", r.Plan.Key(c), errors.Join(err, r.pool.drop(s))))
			continue
		}
		found = append(found, probed{r.Plan.Key(c), probes})
	}
	return found
}
