package trial

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/host/loopdisk"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/state/journal"
)

// An ownDisk is the disk of a place with a device of its own, or why it has none.
type ownDisk struct {
	disk *loopdisk.Disk
	why  string
}

// makeDisks makes the disks of the plan's places, which last for the run, and sweeps those of killed runs.
func (r *Runner) makeDisks(ctx context.Context) {
	r.disks = map[string]ownDisk{}
	own := journal.In(r.StateDir)
	if r.StateDir != "" {
		removed, err := own.Sweep(ctx, map[string]journal.Undo{loopdisk.Kind: loopdisk.Undo(r.StateDir)})
		for _, l := range removed {
			r.Observer.Note("removed the leftovers of an earlier run: " + l)
		}
		if err != nil {
			r.warn(record.Note, "sweep", fmt.Sprintf("a disk of an earlier run could not be removed: %v", err))
		}
	}
	for _, name := range r.usedPlaces() {
		p, _ := r.Plan.Place(name)
		if _, made := r.disks[p.Name]; made || p.OwnDevice == 0 {
			continue
		}
		d, err := loopdisk.Make(ctx, own, r.StateDir, "plimsoll-"+r.run.ID+"-"+p.Name, p.OwnDevice)
		if err != nil {
			r.disks[p.Name] = ownDisk{why: "the place can't have a device of its own: " + err.Error() + "; run as root on Linux, or give the place a path on a disk that nothing else uses"}
			continue
		}
		r.disks[p.Name] = ownDisk{disk: d}
	}
}

// usedPlaces names the places of the cells and of their sources; some more than once.
func (r *Runner) usedPlaces() []string {
	var names []string
	for _, c := range r.cells {
		names = append(names, c.Place)
		if c.Source != "" {
			names = append(names, c.Source)
		}
	}
	return names
}

// closeDisks removes the disks.
func (r *Runner) closeDisks() error {
	var errs []error
	for name, d := range r.disks {
		if d.disk != nil {
			errs = append(errs, d.disk.Close())
		}
		delete(r.disks, name)
	}
	return errors.Join(errs...)
}
