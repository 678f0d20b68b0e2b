package check

import (
	"testing"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

func TestRate(t *testing.T) {
	paced := func(done, late, missed int64) func(*record.Trial) {
		return func(t *record.Trial) {
			t.Spec.Job.RateIOPS = 1000
			t.Results[0].Classes[0].Ops, t.Results[0].Elapsed, t.Results[0].WallElapsed = done, 10*time.Second, 0
			t.Results[0].Late, t.Results[0].Missed, t.Results[0].MaxLate = late, missed, 950*time.Millisecond
		}
	}
	testRows(t, []row{
		{"held, at the limit", paced(10_000, 10, 0), ""},
		// In the whole, as many I/Os were done as were offered, but some began late.
		{"late", paced(10_000, 11, 0), "rate/doubt"},
		{"more than the mean of poisson", paced(10_470, 20, 0), "rate/doubt"},
		{"a little less", paced(9_998, 20, 2), "rate/doubt"},
		{"all were started, in a little longer", paced(9_960, 20, 0), "rate/doubt"},
		{"missed", paced(9_100, 0, 900), "rate/doubt"},
		{"of a tool's line", func(t *record.Trial) {
			t.Spec.Kind = workload.Stage
			job := func(rate, late int64) workload.StageResult {
				s := workload.StageResult{Job: load.Job{Rate: rate}}
				s.Classes, s.Late, s.MaxLate = []load.Class{{Name: "read", Ops: 10_000}}, late, 20*time.Millisecond
				return s
			}
			// A closed loop's lateness and its number of I/Os don't matter here.
			t.Results[0].Stage = []workload.StageResult{job(1<<20, 11), job(0, 400)}
		}, "rate/doubt"},
		{"a closed loop has no arrivals", func(t *record.Trial) { t.Results[0].Late = 500 }, ""},
	})
}

func TestEngineNotes(t *testing.T) {
	testRows(t, []row{
		{"none", func(*record.Trial) {}, ""},
		{"one", func(t *record.Trial) { t.Results[0].Notes = []string{"no registered buffers", "no registered buffers"} }, "engine-note/note"},
	})
}
