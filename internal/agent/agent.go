// Package agent is the parent's side of a worker: it speaks package wire with
// the agent of one engine.Session and turns what can go wrong into errors that
// say what died, where, and how far it got.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"plimsoll/internal/engine"
	"plimsoll/internal/wire"
	"plimsoll/internal/workload"
	"plimsoll/load"
)

// ErrLost is wrapped by errors that mean the agent itself is gone: the session
// can run no further trial.
var ErrLost = errors.New("worker lost")

// An Agent is a running worker. Its methods belong to one goroutine.
type Agent struct {
	Session engine.Session
	// Hello is the agent's first message.
	Hello wire.Hello

	out  *wire.Writer
	msgs chan wire.Message
	// readErr is why msgs was closed; it is written before the close.
	readErr error
}

// Open waits for the agent's hello. It does not close the session on failure.
func Open(ctx context.Context, s engine.Session) (*Agent, error) {
	a := &Agent{Session: s, out: wire.NewWriter(s.Stdin()), msgs: make(chan wire.Message, 16)}
	go a.read()
	m, err := a.next(ctx)
	if err != nil {
		return nil, err
	}
	if m.Hello == nil {
		return nil, fmt.Errorf("the worker's first message is not hello: %w", ErrLost)
	}
	if m.Hello.Version != wire.Version {
		return nil, fmt.Errorf("the worker speaks version %d, plimsoll %d: %w", m.Hello.Version, wire.Version, ErrLost)
	}
	a.Hello = *m.Hello
	return a, nil
}

// read forwards messages until the agent's output ends.
func (a *Agent) read() {
	r := wire.NewReader(a.Session.Stdout())
	for {
		m, _, err := r.Next()
		if err != nil {
			a.readErr = err
			close(a.msgs)
			// Nobody reads on; the agent must not block on a full pipe.
			io.Copy(io.Discard, a.Session.Stdout())
			return
		}
		a.msgs <- m
	}
}

// next returns the next message, or why there is none.
func (a *Agent) next(ctx context.Context) (wire.Message, error) {
	select {
	case m, ok := <-a.msgs:
		if ok {
			return m, nil
		}
		return wire.Message{}, a.lost()
	case <-ctx.Done():
		return wire.Message{}, context.Cause(ctx)
	}
}

// lost describes the end of the agent.
func (a *Agent) lost() error {
	// The run's context may be over; what happened is still worth asking for.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	state := a.Session.State(ctx)
	if a.readErr != nil && a.readErr != io.EOF {
		return &TrialError{Phase: "worker", Text: fmt.Sprintf("%v (%s)", a.readErr, state), Log: a.Session.Log(), err: ErrLost}
	}
	return &TrialError{Phase: "worker", Text: "the worker ended: " + state, Log: a.Session.Log(), err: ErrLost}
}

// A TrialError is a trial that failed: what the worker said, and how far it got.
type TrialError struct {
	// Phase is wire.PhasePrepare, wire.PhaseRun, or "worker" when the agent itself
	// went.
	Phase string
	Text  string
	// Signal killed the trial's process, if any did.
	Signal string
	// Log holds the last lines of standard error.
	Log string
	// Done is how far it got; nil if it did not say.
	Done *load.Sample

	err error
}

// Error implements error.
func (e *TrialError) Error() string { return e.Text }

// Unwrap returns ErrLost when the agent is gone.
func (e *TrialError) Unwrap() error { return e.err }

// Prepare asks for a trial and waits until its files are laid out.
func (a *Agent) Prepare(ctx context.Context, id string, spec workload.Spec) error {
	if err := a.out.Send(wire.Message{Run: &wire.Run{ID: id, Spec: spec}}); err != nil {
		return a.lost()
	}
	for {
		m, err := a.next(ctx)
		if err != nil {
			return a.abandon(id, err)
		}
		switch {
		case m.Ready != nil && m.Ready.ID == id:
			return nil
		case m.Error != nil && m.Error.ID == id:
			return failed(m.Error)
		}
	}
}

// Start begins the trial that Prepare made ready.
func (a *Agent) Start(id string) error {
	if err := a.out.Send(wire.Message{Start: &wire.Start{ID: id}}); err != nil {
		return a.lost()
	}
	return nil
}

// Wait returns the result of a started trial. When ctx ends first the trial is
// stopped, and Wait returns the context's cause after the worker has answered or
// a grace of two seconds.
func (a *Agent) Wait(ctx context.Context, id string, onSample func(load.Sample)) (*workload.Result, error) {
	for {
		m, err := a.next(ctx)
		if err != nil {
			return nil, a.abandon(id, err)
		}
		switch {
		case m.Sample != nil && m.Sample.ID == id:
			if onSample != nil {
				onSample(m.Sample.Sample)
			}
		case m.Result != nil && m.Result.ID == id:
			return &m.Result.Result, nil
		case m.Error != nil && m.Error.ID == id:
			return nil, failed(m.Error)
		}
	}
}

// abandon stops trial id after cause, and waits a little for the worker to have
// stopped, so that the session may be used again.
func (a *Agent) abandon(id string, cause error) error {
	if errors.Is(cause, ErrLost) {
		return cause
	}
	if err := a.out.Send(wire.Message{Stop: &wire.Stop{ID: id}}); err != nil {
		return cause
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	for {
		m, err := a.next(ctx)
		if err != nil {
			// It did not stop: the session is not fit for another trial.
			return &TrialError{Phase: wire.PhaseRun, Text: cause.Error(), Log: a.Session.Log(), err: errors.Join(cause, ErrLost)}
		}
		if m.Error != nil && m.Error.ID == id || m.Result != nil && m.Result.ID == id {
			return cause
		}
	}
}

// failed turns the worker's words into an error.
func failed(e *wire.Error) error {
	return &TrialError{Phase: e.Phase, Text: e.Text, Signal: e.Signal, Log: e.Log, Done: e.Done}
}
