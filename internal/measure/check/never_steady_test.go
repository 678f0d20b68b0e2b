package check

import (
	"encoding/json"
	"testing"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// rounds gives the trial's client rounds of one second, with ops I/Os each. The last five count.
func rounds(ops ...int64) func(*record.Trial) {
	return func(t *record.Trial) {
		t.Spec.Steady.Round = time.Second
		t.Spec.Job.Runtime = time.Duration(len(ops)) * time.Second
		r := &workload.Rounds{From: max(len(ops)-5, 0), To: len(ops)}
		for i, n := range ops {
			r.Each = append(r.Each, load.Sample{At: time.Duration(i+1) * time.Second, Ops: n, Bytes: 4096 * n, Lat: time.Duration(n) * ms})
		}
		t.Results[0].Rounds = r
	}
}

func TestNeverSteady(t *testing.T) {
	testRows(t, []row{
		{"steady", rounds(100, 110, 100, 105, 100), ""},
		{"steady after a fall", rounds(900, 700, 500, 300, 100, 101, 99, 100, 100), ""},
		{"falls", rounds(1000, 900, 800, 700, 600, 500, 400), "never-steady/doubt"},
		{"a slope alone", rounds(100, 103, 106, 109, 112), "never-steady/doubt"},
		{"a range alone", rounds(100, 100, 124, 100, 100), "never-steady/doubt"},
		{"the latency", func(t *record.Trial) {
			rounds(100, 100, 100, 100, 100)(t)
			for i := range t.Results[0].Rounds.Each {
				t.Results[0].Rounds.Each[i].Lat *= time.Duration(10 + i)
			}
		}, "never-steady/doubt"},
		{"nothing", rounds(0, 0, 0, 0, 0), "never-steady/doubt"},
		{"too few", rounds(100, 100), "never-steady/doubt"},
		{"a step on the way", rounds(900, 900, 900, 905, 900, 900, 900, 300, 300, 300, 298, 300, 300, 600, 300, 300, 300, 300), "never-steady/doubt burst/doubt"},
		// Within its steady rounds a job's seconds may scatter: it is judged by the rounds.
		{"scatter within steady rounds", func(t *record.Trial) {
			samples(1000, 400, 1000, 400, 1000, 400, 1000)(t)
			rounds(100, 110, 100, 105, 100)(t)
		}, ""},
		{"a damaged record", func(t *record.Trial) {
			rounds(100, 200, 300, 400, 500)(t)
			t.Results[0].Rounds.To = 9
		}, ""},
	})
}

// TestNeverSteadyTogether: clients are judged by what they do in sum.
func TestNeverSteadyTogether(t *testing.T) {
	two := func(second ...int64) *record.Trial {
		tr := clean()
		rounds(100, 90, 80, 70, 60)(tr)
		other := clean()
		rounds(second...)(other)
		tr.Results = append(tr.Results, other.Results[0])
		tr.Results[0].Disks[0].ReadBytes *= 2
		retruth(tr)
		return tr
	}
	if ws := Trial(two(60, 70, 80, 90, 100), testRun()); len(ws) != 0 {
		t.Errorf("what one loses the other gains: %v", texts(ws))
	}
	if got := summary(Trial(two(100, 90, 80, 70, 60), testRun())); got != "never-steady/doubt" {
		t.Errorf("both fall: %q", got)
	}
}

// TestEvidenceOfASteadyState: in figures, for machines.
func TestEvidenceOfASteadyState(t *testing.T) {
	tr := clean()
	rounds(1000, 900, 800, 700, 600, 500, 400)(tr)
	var e struct {
		Rounds, From, To int
		RoundNS          int64 `json:"round_ns"`
		Range, Slope     float64
		LatencyRange     float64 `json:"latency_range"`
		LatencySlope     float64 `json:"latency_slope"`
	}
	ws := Trial(tr, testRun())
	if err := json.Unmarshal(ws[0].Evidence, &e); err != nil {
		t.Fatalf("evidence %s: %v", ws[0].Evidence, err)
	}
	if e.Rounds != 7 || e.From != 2 || e.To != 7 {
		t.Errorf("evidence %s, want rounds 2 to 7 of 7", ws[0].Evidence)
	}
	if e.RoundNS != int64(time.Second) {
		t.Errorf("evidence %s, want rounds of a second", ws[0].Evidence)
	}
	if e.Range < 0.66 || e.Range > 0.67 || e.Slope > -0.66 {
		t.Errorf("evidence %s, want a range of two thirds, and a slope that falls by as much", ws[0].Evidence)
	}
	if e.LatencyRange != 0 || e.LatencySlope != 0 {
		t.Errorf("evidence %s, want a constant latency", ws[0].Evidence)
	}
	tr = clean()
	samples(100, 100, 101, 100, 100, 20, 20, 21, 20, 20, 100, 101, 100, 100, 100)(tr)
	var s struct {
		Before, After, Change float64
		Steps                 []struct {
			AtNS          int64 `json:"at_ns"`
			Before, After float64
		}
	}
	ws = Trial(tr, testRun())
	if err := json.Unmarshal(ws[0].Evidence, &s); err != nil {
		t.Fatalf("evidence %s: %v", ws[0].Evidence, err)
	}
	if s.Change != -0.8 || s.Before != 100 {
		t.Errorf("evidence %s, want a fall from 100 by 80 %%", ws[0].Evidence)
	}
	if len(s.Steps) != 2 {
		t.Fatalf("evidence %s, want two steps", ws[0].Evidence)
	}
	if s.Steps[0].AtNS != 5e9 || s.Steps[0].Before != 100 {
		t.Errorf("evidence %s, want the first step after 5 s, from 100", ws[0].Evidence)
	}
	if s.Steps[1].AtNS != 10e9 {
		t.Errorf("evidence %s, want the second step after 10 s", ws[0].Evidence)
	}
}
