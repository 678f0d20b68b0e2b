package trial

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
)

// stuck is an engine that hangs until it is freed, whatever its context says.
type stuck struct {
	engine.Engine
	free   chan struct{}
	closed chan struct{}
}

func (s *stuck) Open(context.Context, engine.Spec) (engine.Session, error) {
	<-s.free
	return &stuckSession{s: s}, nil
}

// stuckSession is a session whose Close hangs until its engine is freed.
type stuckSession struct {
	engine.Session
	s *stuck
}

func (s *stuckSession) Info() engine.Info     { return engine.Info{HostPath: "/mnt/dead"} }
func (s *stuckSession) Stdout() io.Reader     { return strings.NewReader("") }
func (s *stuckSession) Stdin() io.WriteCloser { return nil }
func (s *stuckSession) Close(context.Context) error {
	<-s.s.free
	close(s.s.closed)
	return nil
}

// TestPoolHangingOpen: an engine that hangs on a dead disk fails the trial, and what it
// opens in the end is closed.
func TestPoolHangingOpen(t *testing.T) {
	e := &stuck{free: make(chan struct{}), closed: make(chan struct{})}
	p := &pool{engines: map[string]engine.Engine{"e": e}, run: "r", hard: t.Context(), agents: map[string]*agent.Agent{}, grace: time.Millisecond}
	cause := errors.New("too late")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, _, err := p.get(ctx, sessionSpec{engine: "e", spec: engine.Spec{Place: place.Spec{Name: "dead"}}})
	if !errors.Is(err, cause) || !strings.Contains(err.Error(), "hangs on place dead") {
		t.Errorf("get() = %v, want it to name the place and the cause", err)
	}
	close(e.free)
	select {
	case <-e.closed:
	case <-time.After(time.Minute):
		t.Error("the session that was opened too late was not closed")
	}
}

// TestPoolHangingClose: a session whose data can't be removed in time doesn't stop the
// run, not even with a second interrupt.
func TestPoolHangingClose(t *testing.T) {
	e := &stuck{free: make(chan struct{}), closed: make(chan struct{})}
	hard, cancel := context.WithCancel(t.Context())
	cancel()
	p := &pool{hard: hard, agents: map[string]*agent.Agent{}, grace: time.Millisecond}
	p.agents["x"] = &agent.Agent{Session: &stuckSession{s: e}}
	if err := p.closeAll(); err == nil || !strings.Contains(err.Error(), "/mnt/dead") || !strings.Contains(err.Error(), "hangs") {
		t.Errorf("closeAll() = %v, want it to name what hangs", err)
	}
	if len(p.agents) > 0 {
		t.Errorf("the pool still holds %v", p.agents)
	}
	close(e.free)
	<-e.closed
}

// A slow engine has a patience of its own, and keeps the deadline that it was given.
type slow struct {
	engine.Engine
	until time.Time
}

func (s *slow) Patience() time.Duration { return time.Hour }

func (s *slow) Open(ctx context.Context, _ engine.Spec) (engine.Session, error) {
	s.until, _ = ctx.Deadline()
	return nil, errors.New("enough")
}

// TestPoolPatience: an engine that says how long its sessions may take to start gets as long.
func TestPoolPatience(t *testing.T) {
	e := &slow{}
	p := newPool(map[string]engine.Engine{"e": e}, "r", "", t.Context())
	if _, _, err := p.get(t.Context(), sessionSpec{engine: "e"}); err == nil || err.Error() != "enough" {
		t.Errorf("get() = %v, want what the engine said", err)
	}
	if left := time.Until(e.until); left < 30*time.Minute {
		t.Errorf("the engine was given %v, want an hour", left)
	}
}

// A sticky has limits that stay for a number of attempts to remove them.
type sticky int

func (s *sticky) Release() error {
	if *s--; *s >= 0 {
		return errors.New("the limit stays")
	}
	return nil
}

// TestReleasedLater: limits that a trial could not remove are removed before the next trial's, or when the agents are closed. They stayed until
// another run began.
func TestReleasedLater(t *testing.T) {
	p := newPool(nil, "run", "", t.Context())
	one, three := sticky(1), sticky(3)
	for _, h := range []*sticky{&one, &three} {
		if err := p.release(h); err == nil {
			t.Error("limits that stay are released")
		}
	}
	(&attempt{pool: p}).hold(t.Context())
	if one != -1 || three != 1 || len(p.left) != 1 {
		t.Errorf("with the next trial %d, %d, and %d are left; want the second alone", one, three, len(p.left))
	}
	if err := p.closeAll(); err == nil {
		t.Error("the run ends without an error, and a limit stays")
	}
	if err := p.closeAll(); err != nil || three != -1 || len(p.left) > 0 {
		t.Errorf("closeAll() = %v, and %d are left", err, len(p.left))
	}
}
