package trial

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/record"
)

// TestResume: a run that was broken off goes on with what is missing, in the same order.
func TestResume(t *testing.T) {
	t.Parallel()
	r, n, _ := newRunner(t, twoClients)
	ctx, cancel := context.WithCancel(t.Context())
	n.stop = func() {
		if n.told == 5 {
			cancel()
		}
	}
	run := &record.Run{ID: "r1", Seed: 3}
	if err := r.Run(ctx, run); !errors.Is(err, ErrInterrupted) {
		t.Fatalf("Run = %v, want ErrInterrupted", err)
	}
	if n.run.Status != record.Interrupted || len(n.trials) != 5 {
		t.Fatalf("status %s, %d trials", n.run.Status, len(n.trials))
	}
	done := map[Key]bool{}
	for _, tr := range n.trials {
		done[Key{tr.Key, tr.Block}] = true
	}
	r2, n2, _ := newRunner(t, twoClients)
	r2.Done, r2.Earlier = done, n.trials
	if err := r2.Run(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if n2.done != 5 {
		t.Errorf("told of %d trials that were measured before, want 5", n2.done)
	}
	s := n2.run.Sessions
	if len(s) != 2 {
		t.Fatalf("sessions %+v, want one for each time that it was measured", s)
	}
	if s[0].Ended.IsZero() || s[1].Started.Before(s[0].Ended) {
		t.Errorf("sessions %+v, want the second after the end of the first", s)
	}
	if took := n2.run.Took(); took > s[1].Ended.Sub(s[0].Started) {
		t.Errorf("the run took %v, longer than from its start to its end: %+v", took, s)
	}
	r3, n3, _ := newRunner(t, twoClients)
	if err := r3.Run(t.Context(), &record.Run{ID: "r3", Seed: 3}); err != nil {
		t.Fatal(err)
	}
	keys := func(ts []record.Trial) (ks []Key) {
		for _, tr := range ts {
			ks = append(ks, Key{tr.Key, tr.Block})
		}
		return ks
	}
	if got, want := keys(slices.Concat(n.trials, n2.trials)), keys(n3.trials); !slices.Equal(got, want) {
		t.Errorf("in two parts %v, at once %v", got, want)
	}
	if n2.run.Status != record.Done {
		t.Errorf("status %s", n2.run.Status)
	}
}

// missing is an engine that does not work here.
type missing struct{ engine.Engine }

func (missing) Probe(context.Context) engine.Probe { return engine.Probe{Missing: "no daemon answers"} }

// TestResumeAnew: which cells are skipped is found out anew, unless that is broken off; and a run of
// which nothing can be measured any more goes on being one that can be resumed.
func TestResumeAnew(t *testing.T) {
	t.Parallel()
	r, n, _ := newRunner(t, twoClients)
	run := record.Run{ID: "r1", Seed: 3}
	if err := r.Run(t.Context(), &run); err != nil {
		t.Fatal(err)
	}
	all := n.trials
	run.Skipped = []record.Skip{{Cell: all[0].Cell, Reason: "no daemon answered"}}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name    string
		ctx     context.Context
		without bool // the engine
		earlier int  // trials
		want    error
		status  string
		skipped string // the reason of the first
	}{
		{"works again", t.Context(), false, 5, nil, record.Done, ""},
		{"interrupted", over, false, 5, ErrInterrupted, record.Interrupted, "no daemon answered"},
		{"no longer works", t.Context(), true, 5, ErrNothing, record.Interrupted, "no daemon answers"},
		{"was complete", t.Context(), true, len(all), nil, record.Done, "no daemon answers"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, n, c := newRunner(t, twoClients)
			r.Earlier, r.Done = all[:tt.earlier], map[Key]bool{}
			for _, tr := range r.Earlier {
				r.Done[Key{tr.Key, tr.Block}] = true
			}
			if tt.without {
				r.Engines["host"] = missing{c}
			}
			run := run
			if err := r.Run(tt.ctx, &run); !errors.Is(err, tt.want) {
				t.Errorf("Run = %v, want %v", err, tt.want)
			}
			reason := ""
			if len(n.run.Skipped) > 0 {
				reason = n.run.Skipped[0].Reason
			}
			if n.run.Status != tt.status || reason != tt.skipped {
				t.Errorf("the run is %s, skipped for %q; want %s and %q", n.run.Status, reason, tt.status, tt.skipped)
			}
		})
	}
}

// TestKilledSession: a session that was killed ends with its last trial, so that the
// pause before a run is resumed is no part of what it took.
func TestKilledSession(t *testing.T) {
	begin := time.Date(2026, 11, 21, 15, 30, 0, 0, time.UTC)
	run := &record.Run{Sessions: []record.Session{{Started: begin}}}
	r := &Runner{run: run, Earlier: []record.Trial{
		{Started: begin.Add(time.Second), Wall: 2 * time.Second}, {Started: begin, Wall: time.Second},
	}}
	r.beginSession(begin.Add(time.Hour))
	run.Sessions[1].Ended = begin.Add(time.Hour + 4*time.Second)
	if got := run.Took(); got != 7*time.Second {
		t.Errorf("Took = %v, want the 3 s before it was killed and the 4 s after", got)
	}
}
