package trial

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/workertest"
)

// TestBenchLostStorage: a trial on a bench fails as one of a run does. What takes the storage from
// under all of them is no result; a worker that dies is one, and so is a container that can't
// be made again.
func TestBenchLostStorage(t *testing.T) {
	for _, tt := range []struct {
		name string
		m    mortal
		// killed and opened are what becomes of the trials whose worker is killed and whose
		// container isn't made again: the reason that is no result, "" for a failed record.
		killed, opened string
	}{
		{"the engine", mortal{err: errors.New("connection refused"), gone: errors.New("no daemon listens")},
			"engine host is gone: no daemon listens", "engine host is gone: no daemon listens"},
		{"the state folder's room", mortal{err: &engine.StateFullError{State: "/s", Err: errors.New("no space left")}}, "", "state folder /s is full"},
		{"only the trial", mortal{err: errors.New("no such image")}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := tt.m
			m.Engine, m.left = host.New(t.TempDir(), workertest.Source(t)), 1
			b := &Bench{
				Engine: &m, Spec: engine.Spec{Place: place.Spec{Name: "dir", Kind: place.Dir}}, Run: &record.Run{ID: "r"},
				Cell: record.Cell{Engine: "host", Place: "dir"},
			}
			if err := b.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			}()
			spec := workload.Spec{Name: "a", Kind: workload.Append, Count: 5, BS: 64}
			if tr, err := b.Trial(t.Context(), spec, nil); err != nil || tr.Status != record.Done {
				t.Fatalf("Trial() = %+v, %v", tr, err)
			}
			if err := unix.Kill(b.agent.Info().PID, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			tr, err := b.Trial(t.Context(), spec, nil)
			judgeLost(t, "killed", tr, err, "worker", tt.killed)
			tr, err = b.Trial(t.Context(), spec, nil)
			judgeLost(t, "not opened", tr, err, "open", tt.opened)
		})
	}
}

// judgeLost fails unless a trial is no result for want's reason, or, where that is empty, a failed one of phase.
func judgeLost(t *testing.T, what string, tr *record.Trial, err error, phase, want string) {
	t.Helper()
	var lost *EnvironmentError
	if want != "" {
		if tr != nil || !errors.As(err, &lost) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Trial() = %+v, %v, want no record and %q", what, tr, err, want)
		}
		return
	}
	if err == nil || errors.As(err, &lost) || tr == nil {
		t.Errorf("%s: Trial() = %+v, %v, want a record and an error of the trial alone", what, tr, err)
		return
	}
	if tr.Status != record.Failed || tr.Phase != phase {
		t.Errorf("%s: Trial() is %s in phase %s, want failed in phase %s", what, tr.Status, tr.Phase, phase)
	}
	if tr.Error == "" {
		t.Errorf("%s: Trial() has no error in its record: %+v", what, tr)
	}
}
