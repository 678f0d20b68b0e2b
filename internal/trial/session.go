package trial

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"plimsoll/internal/agent"
	"plimsoll/internal/engine"
)

// openTimeout bounds the start of one container, in which a daemon may have to
// be waited for.
const openTimeout = 30 * time.Second

// A pool holds the running agents of one block, by what they stand for. Every block
// opens its own, so that a container's luck with its files is drawn anew.
type pool struct {
	engines map[string]engine.Engine
	// run is part of every session's ID.
	run string
	// hard is cancelled when cleaning up must be quick.
	hard context.Context

	agents map[string]*agent.Agent
}

// A seat is what makes two trials share a container: everything but the workload.
type seat struct {
	engine string
	client int
	spec   engine.Spec
	// control keeps the A/A control apart from the baseline.
	control bool
}

// key names the seat in the pool.
func (s seat) key() string {
	return fmt.Sprintf("%s/%s/%s/%d/%v", s.engine, s.spec.Place.Name, s.spec.Limits.Name, s.client, s.control)
}

// get returns the agent of a seat, and how long it took to start if it had to be
// started.
func (p *pool) get(ctx context.Context, s seat) (*agent.Agent, time.Duration, error) {
	if a := p.agents[s.key()]; a != nil {
		return a, 0, nil
	}
	e := p.engines[s.engine]
	if e == nil {
		return nil, 0, fmt.Errorf("there is no engine %q", s.engine)
	}
	start := time.Now()
	s.spec.ID = sessionID(p.run)
	ctx, cancel := context.WithTimeoutCause(ctx, openTimeout, fmt.Errorf("no worker answered within %v", openTimeout))
	defer cancel()
	session, err := e.Open(ctx, s.spec)
	if err != nil {
		return nil, 0, err
	}
	a, err := agent.Open(ctx, session)
	if err != nil {
		return nil, 0, errors.Join(err, p.close(session))
	}
	p.agents[s.key()] = a
	return a, time.Since(start), nil
}

// drop closes a seat's agent, which is not fit for another trial.
func (p *pool) drop(s seat) error {
	a := p.agents[s.key()]
	if a == nil {
		return nil
	}
	delete(p.agents, s.key())
	return p.close(a)
}

// closeAll closes every agent, side by side: each may have to wait for a daemon.
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
	return errors.Join(errs...)
}

// closeTimeout bounds the end of one container.
const closeTimeout = 30 * time.Second

// A closer is a session, or the agent in it.
type closer interface {
	Close(context.Context) error
}

// close ends a session even when the run's own context is over.
func (p *pool) close(s closer) error {
	ctx, cancel := context.WithTimeout(p.hard, closeTimeout)
	defer cancel()
	if err := s.Close(ctx); err != nil {
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
