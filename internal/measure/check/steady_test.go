package check

import (
	"testing"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/load"
)

// samples gives the trial one sample a second.
func samples(ops ...int64) func(*record.Trial) {
	return func(t *record.Trial) {
		t.Results[0].Samples = nil
		for i, n := range ops {
			t.Results[0].Samples = append(t.Results[0].Samples, load.Sample{At: time.Duration(i+1) * time.Second, Ops: n})
		}
	}
}

// stretch makes all samples as long as by, of what they were.
func stretch(t *record.Trial, by float64) {
	for i := range t.Results[0].Samples {
		s := &t.Results[0].Samples[i]
		s.At = time.Duration(float64(s.At) * by)
	}
}

func TestSteady(t *testing.T) {
	testRows(t, []row{
		{"step of 30 %", samples(1000, 1010, 990, 1000, 1000, 700, 690, 710, 700, 700), "burst/doubt"},
		{"step of less", samples(1000, 1000, 1000, 1000, 1000, 701, 701, 701, 701, 701), "unsteady/doubt"},
		{"step late", samples(1000, 1010, 990, 1000, 1005, 995, 100, 110, 90, 100, 100), "burst/doubt"},
		{"step too late to tell", samples(1000, 1010, 990, 1000, 1005, 995, 1000, 1000, 990, 1001, 300, 300), "unsteady/note"},
		{"too few samples for a step", samples(100, 100, 101, 1000, 1000, 1001), "unsteady/doubt"},
		{"step up", samples(100, 100, 101, 100, 100, 1000, 1000, 1001, 1000, 1000), "burst/doubt"},
		{"down and up again", samples(100, 100, 101, 100, 100, 20, 20, 21, 20, 20, 100, 101, 100, 100, 100), "burst/doubt"},
		{"a dip of two samples", samples(100, 100, 101, 100, 100, 20, 20, 100, 101, 100, 100, 100, 100, 100, 101, 100, 100, 100, 101, 100), "unsteady/note"},
		{"service time of an open loop", func(t *record.Trial) {
			samples(100, 100, 100, 100, 100, 100, 100, 100, 100, 100)(t)
			t.Spec.Job.RateIOPS = 100
			for i := range t.Results[0].Samples {
				t.Results[0].Samples[i].Lat = 100 * ms
				if i >= 5 {
					t.Results[0].Samples[i].Lat = 900 * ms
				}
			}
		}, "burst/note"},
		{"steady", samples(1000, 1010, 990, 1000, 1005, 995, 1000), ""},
		{"trend of 20 %", samples(900, 950, 1000, 1050, 1100), ""},
		{"trend of more", samples(899, 950, 1000, 1050, 1101), "unsteady/doubt"},
		{"four samples", samples(100, 200, 300, 400), ""},
		{"scatter", samples(1000, 400, 1000, 400, 1000, 400, 1000), "unsteady/note"},
		{"scatter of less", samples(1000, 700, 1000, 700, 1000, 700, 1000), ""},
		{"a short last interval", func(t *record.Trial) {
			samples(1000, 1010, 990, 1000, 1005, 995)(t)
			r := &t.Results[0]
			r.Samples = append(r.Samples, load.Sample{At: 6*time.Second + 100*ms, Ops: 1})
		}, ""},
		{"step in a short window", func(t *record.Trial) {
			samples(1000, 1010, 990, 1000, 1000, 700, 690, 710, 700, 700)(t)
			stretch(t, 0.25)
		}, ""},
		{"a ten-second window, a little short", func(t *record.Trial) {
			samples(1000, 1010, 990, 1000, 1000, 600, 590, 610, 600, 600)(t)
			stretch(t, 0.49)
		}, "burst/doubt"},
		{"samples are no seconds", func(t *record.Trial) {
			samples(1000, 1010, 990, 1000, 1000, 700, 690, 710, 700, 700)(t)
			stretch(t, 0.8)
		}, "burst/doubt"},
		{"scatter of other intervals", func(t *record.Trial) { samples(1000, 400, 1000, 400, 1000, 400, 1000)(t); stretch(t, 0.8) }, "unsteady/note"},
		{"a client that ended early", func(t *record.Trial) {
			samples(1000, 1010, 990, 1000, 1005, 995)(t)
			t.Results = append(t.Results, t.Results[0])
			t.Results[1].Samples = t.Results[1].Samples[:3]
			t.Results[0].Disks[0].ReadBytes *= 2
			retruth(t)
		}, ""},
		// A short interval is as fast as the others, and shifts nothing.
		{"short intervals of one client", func(t *record.Trial) {
			samples(1000, 100, 1000, 1000, 1000, 1000, 1000)(t)
			for i := range t.Results[0].Samples[1:] {
				t.Results[0].Samples[i+1].At -= 900 * ms
			}
			two := t.Results[0]
			t.Results = append(t.Results, two)
			samples(1000, 1000, 1000, 1000, 1000, 1000)(t)
			t.Results[0].Disks[0].ReadBytes *= 2
			retruth(t)
		}, ""},
		{"no I/O at all", samples(0, 0, 0, 0, 0, 0, 0), ""},
	})
}
