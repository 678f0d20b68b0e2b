package trial

import (
	"bytes"
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/record"
)

// slowEngine opens sessions. One of them gets its requests late. The engine notes when each
// worker said that it is ready.
type slowEngine struct {
	engine.Engine
	slow  int           // which session
	delay time.Duration // before it gets its request
	start time.Duration // before it is started

	mu    sync.Mutex
	n     int
	ready []time.Time
}

func (e *slowEngine) Open(ctx context.Context, spec engine.Spec) (engine.Session, error) {
	s, err := e.Engine.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	ss := &slowSession{Session: s, engine: e}
	if e.n == e.slow {
		ss.delay, ss.start = e.delay, e.start
	}
	e.n++
	return ss, nil
}

// slowSession is one of its sessions.
type slowSession struct {
	engine.Session
	engine *slowEngine
	delay  time.Duration
	start  time.Duration
}

func (s *slowSession) Stdin() io.WriteCloser { return slowWriter{s.Session.Stdin(), s.delay, s.start} }
func (s *slowSession) Stdout() io.Reader     { return io.TeeReader(s.Session.Stdout(), s) }

// Write sees what the worker says, before plimsoll does.
func (s *slowSession) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`{"ready":`)) {
		s.engine.mu.Lock()
		s.engine.ready = append(s.engine.ready, time.Now())
		s.engine.mu.Unlock()
	}
	return len(p), nil
}

// slowWriter holds requests for a trial, or its start, back.
type slowWriter struct {
	io.WriteCloser
	delay, start time.Duration
}

func (w slowWriter) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`{"run":`)) {
		time.Sleep(w.delay)
	}
	if bytes.Contains(p, []byte(`{"start":`)) {
		time.Sleep(w.start)
	}
	return w.WriteCloser.Write(p)
}

// TestBarrier: of three clients one takes long to get ready. By the clients' own clocks none
// of them begins before the last is ready.
func TestBarrier(t *testing.T) {
	t.Parallel()
	for slow := range 3 {
		r, _, c := newRunner(t, twoClients)
		e := &slowEngine{Engine: c, slow: slow, delay: 300 * time.Millisecond}
		r.Engines["host"] = e
		begin(t, r)
		r.choose(nil)
		for _, workload := range []string{"randread", "append"} {
			e.ready = nil
			tr, _ := r.trial(t.Context(), record.Cell{Workload: workload, Engine: "host", Place: "dir", Limits: r.Plan.Limits[0].Name, Clients: 3}, 0, 0)
			if tr.Status != record.Done || len(tr.Results) != 3 || len(e.ready) != 3 {
				t.Fatalf("trial %s %q with %d results, %d were ready", tr.Status, tr.Error, len(tr.Results), len(e.ready))
			}
			first, last := e.ready[0].Round(0), e.ready[2].Round(0)
			if last.Sub(first) < e.delay/2 {
				t.Fatalf("the slow client was ready %v after the first: the test shows nothing", last.Sub(first))
			}
			for i, res := range tr.Results {
				if res.Start.Before(last) {
					t.Errorf("%s, client %d is slow: client %d began %v before the last was ready", workload, slow+1, i+1, last.Sub(res.Start))
				}
			}
		}
	}
}

// TestSlowClient: of two clients one works when the other is done. They reached together what both
// did in the whole time, not the sum of what each reached in its own.
func TestSlowClient(t *testing.T) {
	r, _, c := newRunner(t, twoClients)
	r.Engines["host"] = &slowEngine{Engine: c, slow: 1, start: 300 * time.Millisecond}
	begin(t, r)
	r.choose(nil)
	tr, _ := r.trial(t.Context(), record.Cell{Workload: "append", Engine: "host", Place: "dir", Limits: r.Plan.Limits[0].Name, Clients: 2}, 0, 0)
	if tr.Status != record.Done || len(tr.Results) != 2 {
		t.Fatalf("trial %s %q with %d results", tr.Status, tr.Error, len(tr.Results))
	}
	a, b := tr.Results[0], tr.Results[1]
	span := b.Start.Add(b.Elapsed).Sub(a.Start)
	if want := float64(a.Ops()+b.Ops()) / span.Seconds(); tr.Value < want*0.999 || tr.Value > want*1.001 {
		t.Errorf("value %v, want %v: %d operations in %v (the sum of the rates is %v)", tr.Value, want, a.Ops()+b.Ops(), span, a.Value(tr.Metric)+b.Value(tr.Metric))
	}
}
