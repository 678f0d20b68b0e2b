package trial

import (
	"context"
	"errors"
	"fmt"
	"os"

	"plimsoll/internal/engine"
	"plimsoll/internal/place"
	"plimsoll/internal/record"
	"plimsoll/internal/workload"
)

// prepare finds out which cells can be measured here, and why others can't: anew in each part of a run,
// since other engines may work by now. What an interrupted look found is not kept: an engine that was
// asked in vain is not missing.
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
	r.run.Skipped = append(r.run.Skipped, record.Skip{Cell: c, Reason: reason})
}

// preflight opens the first block's containers, drops the cells that their
// engine can't offer and those whose files don't fit, and chooses the I/O engines.
func (r *Runner) preflight(ctx context.Context) error {
	var offered []record.Cell
	found := map[string][]probed{}
	r.room = newLedger()
	r.makeDisks(ctx)
	for _, c := range r.cells {
		if why := r.disks[c.Place].why; why != "" {
			r.skip(c, why)
			continue
		}
		agents, _, err := r.agents(ctx, c)
		if err := ctx.Err(); err != nil {
			return err
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
