package runs

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/safety"
	"plimsoll/internal/text/clean"
)

const (
	// safetyFrom is the least time that a run is expected to take if its places are checked, too: a check takes about a second
	// in each.
	safetyFrom = 2 * time.Minute
	// safetyMost is how long all checks of a run may take. Those that are left are not made.
	safetyMost = 45 * time.Second
)

// checkSafety finds out for which programs the places of a run are safe, by the quick questions of plimsoll check. A place that
// can't be checked is a note and no error: the run was measured.
func (j *Job) checkSafety(ctx context.Context, b Bench) error {
	host, err := b.Source.New(plan.Host)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, safetyMost)
	defer cancel()
	j.Run.Safety = nil
	for _, c := range j.Plan.Cells() {
		done := func(s record.PlaceSafety) bool { return s.Engine == c.Engine && s.Place == c.Place }
		skipped := func(s record.Skip) bool { return s.Cell.Engine == c.Engine && s.Cell.Place == c.Place }
		where, ok := j.checkable(c)
		if !ok || ctx.Err() != nil || slices.ContainsFunc(j.Run.Safety, done) || slices.ContainsFunc(j.Run.Skipped, skipped) {
			continue
		}
		e, _ := j.Plan.Engine(c.Engine)
		r, err := safety.Check(ctx, safety.Options{
			Engine: b.Engines[c.Engine], Host: host, Place: where, Quick: true,
			Container: engine.Spec{Image: e.Image, Runtime: e.Runtime, Seccomp: e.Seccomp, Isolation: e.Isolation},
		})
		s := record.PlaceSafety{Engine: c.Engine, Place: c.Place}
		if err != nil {
			b.Observer.Note(fmt.Sprintf("%s %s was not checked for safety: %s", c.Engine, c.Place, clean.Short(err.Error())))
		} else {
			s.Uses = r.Uses
		}
		j.Run.Safety = append(j.Run.Safety, s)
	}
	j.Run.Safety = slices.DeleteFunc(j.Run.Safety, func(s record.PlaceSafety) bool { return s.Uses == nil })
	return b.Store.PutRun(*j.Run)
}

// checkable is the place of a cell, if it is one that a check can look at: memory needs none, and a disk of the run's own is gone.
func (j *Job) checkable(c record.Cell) (place.Spec, bool) {
	p, ok := j.Plan.Place(c.Place)
	switch p.Kind {
	case place.Dir, place.Bind, place.Volume, place.Layer:
		st, err := os.Stat(p.Path) // It may be a file or a device.
		return p, ok && p.OwnDevice == 0 && (p.Path == "" || err == nil && st.IsDir())
	}
	return p, false
}
