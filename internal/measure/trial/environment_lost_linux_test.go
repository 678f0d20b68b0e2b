package trial

import (
	"context"
	"errors"
	"strings"
	"testing"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/record"
)

// mortal is an engine that dies after some sessions.
type mortal struct {
	engine.Engine
	left int
	err  error
	gone error
}

func (m *mortal) Open(ctx context.Context, s engine.Spec) (engine.Session, error) {
	if m.left--; m.left < 0 {
		return nil, m.err
	}
	return m.Engine.Open(ctx, s)
}

func (m *mortal) Gone(context.Context, engine.Spec) error { return m.gone }

// TestRunnerEngineGone: what takes the storage from under the whole run is no result of the
// cell that met it. The run is interrupted there, and resumed with the same trial.
func TestRunnerEngineGone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		m    mortal
		want string
	}{
		{"the engine", mortal{err: errors.New("connection refused"), gone: errors.New("no daemon listens")}, "engine host is gone: no daemon listens"},
		{"the state folder's room", mortal{err: &engine.StateFullError{State: "/s", Err: errors.New("no space left")}}, "state folder /s is full"},
		{"only the cell", mortal{err: errors.New("no such image")}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, n, c := newRunner(t, twoClients)
			m := tt.m
			m.Engine, m.left = c, 5 // The containers of the first block: 2 cells, and a control.
			r.Engines["host"] = &m
			run := &record.Run{ID: "r1", Seed: 3}
			err := r.Run(t.Context(), run)
			failed := 0
			for _, tr := range n.trials {
				if tr.Status == record.Failed {
					failed++
				}
			}
			if tt.want == "" {
				if err != nil || n.run.Status != record.Done || failed == 0 {
					t.Errorf("Run() = %v, the run is %s with %d failed trials; want it done, with some", err, n.run.Status, failed)
				}
				return
			}
			if !errors.Is(err, ErrInterrupted) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Run() = %v, want it interrupted by %q", err, tt.want)
			}
			if n.run.Status != record.Interrupted || failed > 0 || len(n.trials) == 0 {
				t.Errorf("the run is %s with %d trials, %d of them failed; want it interrupted with none", n.run.Status, len(n.trials), failed)
			}
		})
	}
}
