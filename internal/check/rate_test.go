package check

import (
	"testing"
	"time"

	"plimsoll/internal/record"
	"plimsoll/internal/workload"
	"plimsoll/load"
)

func TestRate(t *testing.T) {
	paced := func(late, missed int64) func(*record.Trial) {
		return func(t *record.Trial) {
			t.Spec.Job.RateIOPS = 1000
			t.Results[0].Classes[0].Ops = 10_000 - missed
			t.Results[0].Late, t.Results[0].Missed, t.Results[0].MaxLate = late, missed, 950*time.Millisecond
		}
	}
	testRows(t, []row{
		{"held, at the limit", paced(10, 0), "", ""},
		{"late", paced(11, 0), "rate/doubt", "11 started late (the worst by 950ms)"},
		{"missed", paced(0, 900), "rate/doubt", "of 10000 I/Os that were due 0 started late"},
		{"of a tool's line", func(t *record.Trial) {
			t.Spec.Kind = workload.Stage
			job := func(rate, late int64) workload.StageResult {
				s := workload.StageResult{Job: load.Job{Rate: rate}}
				s.Classes, s.Late, s.MaxLate = []load.Class{{Name: "read", Ops: 10_000}}, late, 20*time.Millisecond
				return s
			}
			// What a closed loop says of lateness, and how much it did, is nothing here.
			t.Results[0].Stage = []workload.StageResult{job(1<<20, 11), job(0, 400)}
		}, "rate/doubt", "of 10000 I/Os that were due 11 started late (the worst by 20ms)"},
		{"a closed loop has no arrivals", func(t *record.Trial) { t.Results[0].Late = 500 }, "", ""},
	})
}

func TestEngineNotes(t *testing.T) {
	testRows(t, []row{
		{"none", func(*record.Trial) {}, "", ""},
		{"one", func(t *record.Trial) { t.Results[0].Notes = []string{"no registered buffers", "no registered buffers"} }, "engine-note/note", "The I/O engine: no registered buffers."},
	})
}
