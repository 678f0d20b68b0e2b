package trial

import (
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/measure/record"
)

// beginSession notes when this process began to measure. If the session before has no end, it was killed; its end is that
// of its last trial.
func (r *Runner) beginSession(now time.Time) {
	if n := len(r.run.Sessions); n > 0 && r.run.Sessions[n-1].Ended.IsZero() {
		killed := &r.run.Sessions[n-1]
		killed.Ended = killed.Started
		for _, t := range r.Earlier {
			if end := t.Started.Add(t.Wall); end.After(killed.Ended) {
				killed.Ended = end
			}
		}
	}
	r.run.Sessions = append(r.run.Sessions, record.Session{Started: now})
}

// begin records the run, once.
func (r *Runner) begin() error {
	if r.begun {
		return nil
	}
	if err := r.Recorder.PutRun(*r.run); err != nil {
		return err
	}
	r.begun = true
	return nil
}

// keep runs the checks on a trial and records it.
func (r *Runner) keep(t *record.Trial) error {
	if r.Judge != nil {
		t.Warnings = append(t.Warnings, r.Judge.Trial(t, r.run)...)
	}
	r.trials = append(r.trials, withoutHistograms(*t))
	if err := r.begin(); err != nil {
		return err
	}
	if err := r.Recorder.PutTrial(*t); err != nil {
		return fmt.Errorf("keep the record of %s, %s: %w", t.Key, record.BlockName(t.Block), err)
	}
	return nil
}

// withoutHistograms is a trial for the checks of the whole run, which don't need latencies. Thousands of trials with
// histograms would fill the memory of the machine that is being measured.
func withoutHistograms(t record.Trial) record.Trial {
	t.Results = slices.Clone(t.Results)
	for i := range t.Results {
		classes := slices.Clone(t.Results[i].Classes)
		for j := range classes {
			classes[j].Lat, classes[j].Response = nil, nil
		}
		t.Results[i].Classes = classes
	}
	return t
}

// warn attaches a doubt to the run.
func (r *Runner) warn(severity, check, text string) {
	for _, w := range r.run.Warnings {
		if w.Check == check && w.Text == text {
			return
		}
	}
	r.run.Warnings = append(r.run.Warnings, record.Warning{Check: check, Severity: severity, Text: text})
}

// finish records how the run ended.
func (r *Runner) finish() error {
	r.run.Ended = time.Now()
	r.run.Sessions[len(r.run.Sessions)-1].Ended = r.run.Ended
	if r.run.Status == record.Done {
		r.look(nil)
	}
	if r.Judge != nil {
		r.run.Warnings = append(r.run.Warnings, r.Judge.Run(r.run, slices.Concat(r.Earlier, r.trials))...)
	}
	return r.Recorder.PutRun(*r.run)
}
