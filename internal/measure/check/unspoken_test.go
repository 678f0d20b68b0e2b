package check

import (
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/load"
)

// lasting makes trials whose window has n samples of a length.
func lasting(trials, n int, step time.Duration) []record.Trial {
	return each(series(make([]float64, trials)...), func(t *record.Trial) {
		r := &t.Results[0]
		r.Samples = nil
		for i := range n {
			r.Samples = append(r.Samples, load.Sample{At: time.Duration(i+1) * step, Ops: 1000, Bytes: 4096 * 1000})
		}
		r.Elapsed = time.Duration(n) * step
	})
}

// TestUnspoken: the report says which checks of the course were impossible, in how many trials and
// why, once for a run; where they could speak it says nothing.
func TestUnspoken(t *testing.T) {
	short, half, whole := lasting(3, 20, 20*time.Millisecond), lasting(2, 6, 500*time.Millisecond), lasting(2, 20, 500*time.Millisecond)
	failed := each(lasting(4, 20, time.Millisecond), func(t *record.Trial) { t.Status = record.Failed })
	join := func(all ...[]record.Trial) (out []record.Trial) {
		for _, ts := range all {
			out = append(out, ts...)
		}
		return out
	}
	for _, tt := range []struct {
		name   string
		trials []record.Trial
		want   []string // in the text; none is no warning
	}{
		{"nothing", nil, nil},
		{"long enough", whole, nil},
		{"only failures", failed, nil},
		{"the default plan's windows", join(short, failed), []string{"(burst and unsteady in 3 of 3 trials): ", "takes several intervals of 400 ms or more, and the windows last 400 ms. ", "10 s"}},
		{"six long samples", half, []string{"(burst in 2 of 2 trials): ", "the windows last 3 s. "}},
		{"mixed", join(short, half, whole), []string{"burst in 5 of 7 trials and unsteady in 3 of 7 trials", "the windows last 400 ms to 3 s. "}},
	} {
		var got []record.Warning
		for _, w := range Run(nil, tt.trials) {
			if w.Check == Unspoken {
				got = append(got, w)
			}
		}
		if len(got) > 1 || (len(got) == 1) != (tt.want != nil) {
			t.Errorf("%s: %v, want a warning: %v", tt.name, got, tt.want != nil)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(got[0].Text, want) || got[0].Severity != record.Note {
				t.Errorf("%s: %s %q, want a note with %q", tt.name, got[0].Severity, got[0].Text, want)
			}
		}
	}
}

// heard is Run without what can't be said of the short windows of most tests here.
func heard(run *record.Run, trials []record.Trial) []record.Warning {
	return slices.DeleteFunc(Run(run, trials), func(w record.Warning) bool { return w.Check == Unspoken })
}
