package check

import (
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

const (
	// flushesEach is the most flushes of a disk that one sync causes: one before and one after the record that ends a
	// journal's commit, and one more for data that is not in the journal or for the file of a loop device.
	flushesEach = 4
)

// foreignFlushes reports that other programs flushed a device, which holds up all other I/O there and moves no bytes. It
// counts the flushes beyond those that the trial's syncs can have caused, or as many as there were right before the trial.
func (v *view) foreignFlushes() []record.Warning {
	if !v.onDisk() || v.waitsForNoDisk() || v.t.Spec.Kind == workload.Command {
		return nil
	}
	s := v.syncsOf()
	own := s.all
	// A journal also commits on its own.
	commits := flushesEach * (1 + int64(v.elapsed/commitEvery))
	for _, l := range v.truth.Layers {
		if l.Host || l.Any || l.Flushes <= 0 {
			continue
		}
		own *= flushesEach
		foreign := max(min(l.OthersFlushes, l.Flushes-s.least), l.Flushes-own)
		held := float64(foreign) / float64(l.Flushes) * l.FlushTime.Seconds()
		if own = l.Flushes; foreign <= commits || held <= foreignShare*v.elapsed.Seconds() {
			continue
		}
		share := min(1, held/v.elapsed.Seconds())
		e := map[string]any{"flushes": l.Flushes, "foreign_flushes": foreign, "flush_share": share, "name": l.Name()}
		return warning(Neighbour, record.Doubt, e, "%d of the %d flushes of %s in the window were not this worker's, and took %s of the window: something else was syncing data there.",
			foreign, l.Flushes, l.Name(), percent(share))
	}
	return nil
}
