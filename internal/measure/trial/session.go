package trial

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/text/refusal"
)

// openTimeout bounds the start of one container, which may have to wait for a daemon.
const openTimeout = 30 * time.Second

// patient is an engine whose sessions need more time than openTimeout to start, such as a virtual machine that boots. It
// says itself what took too long.
type patient interface{ Patience() time.Duration }

// patience is how long a session of e may take to start.
func patience(e engine.Engine) time.Duration {
	if p, ok := e.(patient); ok {
		return p.Patience()
	}
	return openTimeout
}

// A pool holds the running agents of one block. Every block opens its own, so that the place of a container's files on the
// disk is chosen anew.
type pool struct {
	engines map[string]engine.Engine
	// run is part of every session's ID.
	run string
	// machine is Runner.Machine.
	machine string
	// hard is cancelled when there is no more time for cleaning up.
	hard context.Context

	agents map[string]*agent.Agent
	// left are limits of trials that could not be removed.
	left []releaser
	// grace is how long an engine may overrun its context; 0: hangGrace.
	grace time.Duration
}

// newPool makes a pool of run's agents.
func newPool(engines map[string]engine.Engine, run, machine string, hard context.Context) *pool {
	return &pool{engines: engines, run: run, machine: machine, hard: hard, agents: map[string]*agent.Agent{}}
}

// hangGrace lets an engine clean up after its context is over: a runtime's delete takes 10 seconds at most, an agent's end
// 5. After that, the engine counts as hanging, as system calls on a dead disk do.
const hangGrace = 20 * time.Second

// A sessionSpec identifies a container that trials can share: engine, place, limits and client, everything of a cell except
// its workload.
type sessionSpec struct {
	engine string
	client int
	spec   engine.Spec
	// control keeps the A/A control apart from the baseline.
	control bool
}

// key names the session in the pool.
func (s sessionSpec) key() string {
	from := ""
	if s.spec.Source != nil {
		from = s.spec.Source.Name + ":"
	}
	return fmt.Sprintf("%s/%s%s/%s/%d/%v", s.engine, from, s.spec.Place.Name, s.spec.Limits.Name, s.client, s.control)
}

// get returns the agent of a session, and how long it took to start; 0 if it ran already.
func (p *pool) get(ctx context.Context, s sessionSpec) (*agent.Agent, time.Duration, error) {
	if a := p.agents[s.key()]; a != nil {
		return a, 0, nil
	}
	e := p.engines[s.engine]
	if e == nil {
		return nil, 0, fmt.Errorf("there is no engine %q", s.engine)
	}
	start := time.Now()
	s.spec.ID = sessionID(p.run)
	limit := patience(e)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no worker answered within %v", limit))
	defer cancel()
	session, err := p.open(ctx, e, s.spec)
	if err != nil {
		return nil, 0, blameImage(err, s.spec.Image)
	}
	a, err := agent.Open(ctx, session)
	if err != nil {
		return nil, 0, errors.Join(blameImage(err, s.spec.Image), p.close(session))
	}
	if err := engine.CheckHold(session, p.machine); err != nil {
		return nil, 0, errors.Join(err, p.close(a))
	}
	p.agents[s.key()] = a
	return a, time.Since(start), nil
}

// blameImage adds to an error what to try when a container of a user's image does not start.
func blameImage(err error, image string) error {
	var u *refusal.Error
	if image == "" || errors.As(err, &u) {
		return err
	}
	return fmt.Errorf("%w; see whether it starts without the image %s", err, image)
}

// open opens a session. It doesn't wait for an engine that hangs in a system call, and closes a session that such an engine
// opens later.
func (p *pool) open(ctx context.Context, e engine.Engine, spec engine.Spec) (engine.Session, error) {
	var session engine.Session
	returned, err := p.bounded(ctx, func() (err error) {
		session, err = e.Open(ctx, spec)
		return err
	}, func(err error) {
		if err == nil {
			p.close(session)
		}
	})
	if !returned {
		return nil, fmt.Errorf("open: the engine hangs on place %s: %w", spec.Place.Name, context.Cause(ctx))
	}
	return session, err
}

// bounded calls f and returns its error. If f has not returned a grace after ctx is over, bounded returns first, and late
// is called when f does.
func (p *pool) bounded(ctx context.Context, f func() error, late func(error)) (returned bool, err error) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return true, err
	case <-ctx.Done():
	}
	grace := p.grace
	if grace == 0 {
		grace = hangGrace
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err := <-done:
		return true, err
	case <-timer.C:
		go func() { late(<-done) }()
		return false, nil
	}
}

// drop closes a session's agent, which is not fit for another trial.
func (p *pool) drop(s sessionSpec) error {
	a := p.agents[s.key()]
	if a == nil {
		return nil
	}
	delete(p.agents, s.key())
	return p.close(a)
}

// A releaser is limits that a trial has set: an *engine.Hold.
type releaser interface{ Release() error }

// release removes limits. Those that it can't remove are removed later: before the next trial's limits, or when the
// agents are closed.
func (p *pool) release(h releaser) error {
	err := h.Release()
	if err != nil {
		p.left = append(p.left, h)
	}
	return err
}

// releaseLeft removes the limits that release could not.
func (p *pool) releaseLeft() error {
	left := p.left
	p.left = nil
	var errs []error
	for _, h := range left {
		errs = append(errs, p.release(h))
	}
	return errors.Join(errs...)
}

// closeAll closes all agents concurrently: each may have to wait for a daemon.
func (p *pool) closeAll() error {
	var wg sync.WaitGroup
	errs := make([]error, len(p.agents))
	i := 0
	for k, a := range p.agents {
		delete(p.agents, k)
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			errs[i] = p.close(a)
		}(i)
		i++
	}
	wg.Wait()
	// Last: the limits of the agents' own groups are gone with these.
	return errors.Join(append(errs, p.releaseLeft())...)
}

// closeTimeout bounds the end of one container.
const closeTimeout = 30 * time.Second

// A closer is a session, or the agent in it.
type closer interface {
	Close(context.Context) error
	Info() engine.Info
}

// close ends a session even if the run's own context is over.
func (p *pool) close(s closer) error {
	ctx, cancel := context.WithTimeout(p.hard, closeTimeout)
	defer cancel()
	// The state is read first, since Close may never return.
	where := s.Info().HostPath
	returned, err := p.bounded(ctx, func() error { return s.Close(ctx) }, func(error) {})
	if !returned {
		return fmt.Errorf("clean up: removing the data in %q hangs; the next run tries again", where)
	}
	if err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	return nil
}

// sessionID makes a new session's name from the run's.
func sessionID(run string) string {
	var b [4]byte
	rand.Read(b[:])
	return run + "-" + hex.EncodeToString(b[:])
}
