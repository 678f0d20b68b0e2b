package line

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/limitverdict"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/trial"
	"plimsoll/internal/text/clean"
)

// note keeps what a trial that worked says of its figures and limits.
func (s *session) note(t *record.Trial) {
	s.doubts = append(s.doubts, t.Warnings...)
	for _, r := range limitverdict.Of(t) {
		if r.Verdict == judge.NotHeld {
			s.passed++
		}
	}
}

// outcome returns a NotHeldError if the command line worked but limits were not held, and nil otherwise.
func (s *session) outcome(tool string) error {
	if s.passed == 0 {
		return nil
	}
	return &NotHeldError{tool, s.passed}
}

// withoutTimings leaves the times of single requests out of a record: their histogram is in it, and they may be
// megabytes.
func withoutTimings(t record.Trial) record.Trial {
	t.Results = slices.Clone(t.Results)
	for i := range t.Results {
		if h := t.Results[i].HTTP; h != nil {
			short := *h
			short.Timings, short.InFlight = nil, nil
			t.Results[i].HTTP = &short
		}
	}
	return t
}

// Finish implements dialect.Finisher.
func (s *session) Finish(ctx context.Context, quiet bool) error {
	s.quiet = quiet
	return s.close(nil, ctx.Err() != nil)
}

var _ dialect.Finisher = (*session)(nil)

// tell prints what the limits mean, and each doubt about the figures once.
func (s *session) tell() {
	if s.quiet {
		return
	}
	told := map[string]bool{}
	say := func(text string) {
		if !told[text] {
			told[text] = true
			dialect.Note(s.stderr, "%s", clean.Text(text))
		}
	}
	for _, i := range s.implied {
		say(i)
	}
	for _, w := range s.doubts {
		if w.Severity == record.Doubt {
			say("doubt (" + w.Check + "): " + w.Text)
		}
	}
}

// close ends the session and the run's record, and says what is doubtful about the figures. A second time it does nothing.
func (s *session) close(failed error, interrupted bool) error {
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.bench.Close()
	s.tell()
	if s.db == nil {
		return err
	}
	run := s.bench.Run
	run.Ended, run.Status = time.Now(), record.Done
	var lost *trial.EnvironmentError
	if interrupted || errors.As(failed, &lost) {
		run.Status = record.Interrupted
	}
	if s.recorded {
		// A database that took no trial has the same to say again.
		if perr := s.db.PutRun(*run); perr != nil && (failed == nil || !strings.Contains(failed.Error(), perr.Error())) {
			err = errors.Join(err, perr)
		}
	}
	err = errors.Join(err, s.release(), s.db.Close())
	if err == nil && s.recorded {
		dialect.Note(s.stderr, "recorded as run %s: 'plimsoll report %s%s' shows it", run.ID, run.ID, s.options.StateFlag)
	}
	return err
}
