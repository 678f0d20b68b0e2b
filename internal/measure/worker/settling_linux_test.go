package worker

import (
	"testing"

	"plimsoll/internal/measure/wire"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// TestAgentSettling: after a window of buffered writes the worker reports how many bytes are to be written back, and
// after one of direct writes or of reads it reports nothing.
func TestAgentSettling(t *testing.T) {
	p := serve(t, realWorker(t), t.TempDir())
	for name, job := range map[string]load.Job{
		"buffered": {RW: load.RandWrite, BS: 4096, Size: 1 << 20, NumberIOs: 200, IOEngine: load.PSync},
		"read":     {RW: load.RandRead, BS: 4096, Size: 1 << 20, NumberIOs: 200, IOEngine: load.PSync},
		"direct":   {RW: load.RandWrite, BS: 4096, Size: 1 << 20, NumberIOs: 200, IOEngine: load.PSync, Direct: true},
	} {
		for _, kind := range []workload.Kind{workload.Block, workload.Stage} {
			spec := workload.Spec{Name: name, Kind: kind, Job: job}
			if kind == workload.Stage {
				job.Filename = "f-" + name
				spec = workload.Spec{Name: name, Kind: kind, Jobs: []workload.StageJob{{Name: name, Job: job, Size: 1 << 20, Remove: true}}}
			}
			id := name + string(kind)
			p.run(id, spec)
			p.wantReady(id)
			p.send(wire.Message{Start: &wire.Start{ID: id}})
			told := 0
			m := p.next()
			for ; m.Result == nil && m.Error == nil; m = p.next() { // A busy machine's worker may report halts as well.
				switch s := m.Settling; {
				case s != nil && (s.ID != id || s.Left < 0):
					t.Errorf("%s: settling %+v", id, s)
				case s != nil:
					told++
				case m.Sample != nil && told > 0:
					t.Errorf("%s: a sample after the window", id)
				}
			}
			if m.Result == nil {
				t.Fatalf("%s: %+v", id, m.Error)
			}
			if settles := name == "buffered"; settles != (told > 0) || settles != (m.Result.Settled > 0) {
				t.Errorf("%s: told %d times of settling, for %v", id, told, m.Result.Settled)
			}
		}
	}
}
