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

	"plimsoll/internal/engine"
	"plimsoll/internal/place"
	"plimsoll/internal/record"
	"plimsoll/internal/workload"
)

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
