package trial

import (
	"testing"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// TestResumeKeepsTheIOEngine: a run that goes on while a stronger engine works keeps the one of its
// first blocks.
func TestResumeKeepsTheIOEngine(t *testing.T) {
	all := map[string][]probed{"w": {{"w/host/dir", []load.Probe{{Engine: load.IOUring, OK: true}, {Engine: load.LinuxAIO, OK: true}, {Engine: load.PSync, OK: true}}}}}
	for _, resumed := range []bool{false, true} {
		r := &Runner{
			Plan: &plan.Plan{Workloads: []workload.Spec{{Name: "w", Kind: workload.Block, Job: load.Job{RW: load.RandRead, Direct: true}}}},
			run:  &record.Run{IOEngine: map[string]record.EngineChoice{"w": {Engine: load.LinuxAIO, Why: "as it was"}}},
		}
		want := load.IOUring
		if resumed {
			r.Earlier, want = make([]record.Trial, 1), load.LinuxAIO
		}
		r.choose(all)
		if got := r.engine["w"].Job.IOEngine; got != want || r.run.IOEngine["w"].Engine != want {
			t.Errorf("resumed %v: %s, recorded %+v; want %s", resumed, got, r.run.IOEngine["w"], want)
		}
	}
}
