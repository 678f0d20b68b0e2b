// Package agent is plimsoll's side of a worker: it exchanges the messages of package wire with the agent of one
// engine.Session, and turns failures into errors that say what died, where, and how far it got.
package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/wire"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/lastbytes"
	"plimsoll/load"
)

// ErrLost is wrapped by errors that mean the agent itself is gone: the session
// can run no further trial.
var ErrLost = errors.New("worker lost")

// An Agent is a running worker. Its methods must be called from one goroutine.
type Agent struct {
	Session engine.Session
	// Hello is the agent's first message.
	Hello wire.Hello

	out *wire.Writer
	// probes is the answer to Probe, nil before.
	probes []load.Probe
	msgs   chan wire.Message
	// readErr says why msgs was closed; it is set before that.
	readErr error
	// quit is closed when messages are no longer read.
	quit chan struct{}
	// open is the trial that was requested and has not ended, if any.
	open string
	// phase is the trial's last step, its layout or its measured window, and since when.
	phase string
	since time.Time
	// steps counts the steps that were sent.
	steps int
	// unfit is set when no further trial may run.
	unfit bool
}

// Open waits for the agent's hello. It does not close the session on failure.
func Open(ctx context.Context, s engine.Session) (*Agent, error) {
	a := &Agent{Session: s, out: wire.NewWriter(s.Stdin()), msgs: make(chan wire.Message, 16), quit: make(chan struct{})}
	go a.read()
	err := a.greet(ctx)
	if err != nil {
		close(a.quit)
		return nil, err
	}
	return a, nil
}

// greet reads and checks the hello.
func (a *Agent) greet(ctx context.Context) error {
	m, err := a.next(ctx)
	if err != nil {
		return err
	}
	if m.Hello == nil {
		return fmt.Errorf("the worker's first message is not hello: %w", ErrLost)
	}
	if m.Hello.Version != wire.Version {
		return fmt.Errorf("the worker speaks version %d, plimsoll %d: %w", m.Hello.Version, wire.Version, ErrLost)
	}
	a.Hello = *m.Hello
	return nil
}

// Probe asks the worker which I/O engines work in its folder. The worker finds out by doing I/O there, the first time. No
// trial may be open.
func (a *Agent) Probe(ctx context.Context) ([]load.Probe, error) {
	if a.probes != nil {
		return a.probes, nil
	}
	if err := a.out.Send(wire.Message{Probe: &wire.Probe{}}); err != nil {
		return nil, a.lost()
	}
	m, err := a.next(ctx)
	switch {
	case errors.Is(err, ErrLost):
		return nil, err
	case err != nil:
		// The answer may still come, in the middle of a trial.
		a.unfit = true
		return nil, fmt.Errorf("the worker did not say which I/O engines work: %w", err)
	case m.Probed == nil:
		return nil, a.distrust("its answer does not list the I/O engines that work")
	}
	a.probes = m.Probed.Probes
	return a.probes, nil
}

// Info describes the worker that was started.
func (a *Agent) Info() engine.Info { return a.Session.Info() }

// Close closes the session, even while the agent is busy. It must be called once.
func (a *Agent) Close(ctx context.Context) error {
	if a.quit != nil { // nil: Open did not make the agent, and nothing is read.
		close(a.quit)
	}
	return a.Session.Close(ctx)
}

// Fit reports whether the session can run another trial.
func (a *Agent) Fit() bool { return !a.unfit }

// read forwards messages until the agent's output ends or they are no longer wanted.
func (a *Agent) read() {
	r := wire.NewReader(a.Session.Stdout())
	for {
		m, _, err := r.Next()
		if err != nil {
			a.readErr = err
			close(a.msgs)
			break
		}
		select {
		case a.msgs <- m:
			continue
		case <-a.quit:
		}
		break
	}
	// Messages are no longer read; the agent must not block on a full pipe.
	io.Copy(io.Discard, a.Session.Stdout())
}

// next returns the next message, or why there is none.
func (a *Agent) next(ctx context.Context) (wire.Message, error) {
	select {
	case m, ok := <-a.msgs:
		if ok {
			a.note(m)
			return m, nil
		}
		return wire.Message{}, a.lost()
	case <-ctx.Done():
		return wire.Message{}, context.Cause(ctx)
	}
}

// note notes when a message ends the open trial.
func (a *Agent) note(m wire.Message) {
	if m.Error != nil && m.Error.ID == a.open || m.Result != nil && m.Result.ID == a.open {
		a.open = ""
	}
}

// lost describes the end of the agent, for which it waits a little.
func (a *Agent) lost() error {
	a.unfit = true
	// The run's context may be over; the cause is still worth asking for.
	ctx, cancel := context.WithTimeout(context.Background(), lostGrace)
	defer cancel()
	readErr := a.drain(ctx)
	state := a.Session.State(ctx)
	text := "the worker ended: " + state
	if a.Hello.Version == 0 {
		// Only the runtime knows why the worker did not start.
		text = "the worker did not start: " + state
		if words := lastbytes.LastWords(a.Session.Log()); words != "" && !strings.Contains(state, words) {
			text = "the worker did not start: " + words + " (" + state + ")"
		}
	}
	if readErr != nil && readErr != io.EOF {
		text = fmt.Sprintf("%v (%s)", readErr, state)
	}
	return &TrialError{Phase: "worker", Text: text, Log: a.Session.Log(), err: ErrLost}
}

// lostGrace bounds the time for finding out why an agent was lost.
const lostGrace = 5 * time.Second

// drain reads to the end of the agent's output and returns the error that ended it, or nil if ctx is over first.
func (a *Agent) drain(ctx context.Context) error {
	for {
		select {
		case _, ok := <-a.msgs:
			if !ok {
				return a.readErr
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// Prepare requests a trial and waits until its files are laid out. If ctx ends first, the trial is stopped as in Wait.
func (a *Agent) Prepare(ctx context.Context, id string, spec workload.Spec) error {
	a.open, a.phase, a.since = id, wire.PhasePrepare, time.Now()
	if err := a.out.Send(wire.Message{Run: &wire.Run{ID: id, Spec: spec}}); err != nil {
		return a.lost()
	}
	for {
		m, err := a.next(ctx)
		if err != nil {
			return a.abandon(id, err)
		}
		if what := a.misplaced(m, id, false); what != "" {
			return a.distrust(what)
		}
		switch {
		case m.Ready != nil && m.Ready.ID == id:
			return nil
		case m.Error != nil && m.Error.ID == id:
			return failed(m.Error)
		}
	}
}

// Find returns the path of a command's program in the session, or an error that matches workload.ErrNoProgram.
func (a *Agent) Find(ctx context.Context, c workload.CommandSpec) (string, error) {
	if err := a.out.Send(wire.Message{Find: &wire.Find{Command: c}}); err != nil {
		return "", a.lost()
	}
	for {
		m, err := a.next(ctx)
		switch {
		case err != nil:
			return "", err
		case m.Found != nil && m.Found.Error != "":
			return "", noProgram(m.Found.Error)
		case m.Found != nil:
			return m.Found.Path, nil
		case m.Hello != nil, m.Ready != nil, m.Result != nil:
			return "", a.distrust("it did not say whether a program exists")
		}
	}
}

// noProgram is a worker's error for a program that doesn't exist.
type noProgram string

// Error implements error.
func (e noProgram) Error() string { return string(e) }

// Is reports whether target is workload.ErrNoProgram.
func (e noProgram) Is(target error) bool { return target == workload.ErrNoProgram }

// Start starts the trial that Prepare made ready.
func (a *Agent) Start(id string) error {
	a.phase, a.since = wire.PhaseRun, time.Now()
	if err := a.out.Send(wire.Message{Start: &wire.Start{ID: id}}); err != nil {
		return a.lost()
	}
	return nil
}

// Events are called while a trial runs, from Hear's goroutine; nil for none.
type Events struct {
	// Sample is called for each sample, Round at the end of each round of a job with a steady state, in order.
	Sample, Round func(load.Sample)
	// Hanging is called each second while I/Os are in flight after the measured window, with the result as it would be if
	// they never ended.
	Hanging func(*workload.Result)
	// Status is called for the answers to Ask.
	Status func(*workload.Result)
	// Settling is called repeatedly after the measured window while buffered writes are written back, with the bytes that
	// the trial's machine has yet to write back, -1 if unknown.
	Settling func(left int64)
}

// Wait returns the result of a started trial. If ctx ends first, the trial is stopped: after the worker's answer, or a
// grace of two seconds, Wait returns a TrialError that wraps the context's cause.
func (a *Agent) Wait(ctx context.Context, id string, onSample func(load.Sample)) (*workload.Result, error) {
	return a.Hear(ctx, id, Events{Sample: onSample})
}

// Finish ends a trial with a steady state before its longest time. Its result is the window of rounds that begins with
// number from. It may be called from any goroutine while Hear waits, which reports it if the worker is gone.
func (a *Agent) Finish(id string, from int) {
	_ = a.out.Send(wire.Message{Finish: &wire.Finish{ID: id, From: from}})
}

// Ask asks a trial for its result so far, which Hear passes to Events.Status. It may be called from any goroutine while
// Hear waits.
func (a *Agent) Ask(id string) {
	_ = a.out.Send(wire.Message{Ask: &wire.Ask{ID: id}})
}

// Hear is Wait with all events.
func (a *Agent) Hear(ctx context.Context, id string, on Events) (*workload.Result, error) {
	var halts []workload.Halt
	for {
		m, err := a.next(ctx)
		if err != nil {
			return nil, a.abandon(id, err)
		}
		if what := a.misplaced(m, id, true); what != "" {
			return nil, a.distrust(what)
		}
		switch {
		case m.Sample != nil && m.Sample.ID == id:
			if on.Sample != nil {
				on.Sample(m.Sample.Sample)
			}
		case m.Round != nil && m.Round.ID == id:
			if on.Round != nil {
				on.Round(m.Round.Sample)
			}
		case m.Hanging != nil && m.Hanging.ID == id:
			if on.Hanging != nil {
				on.Hanging(&m.Hanging.Result)
			}
		case m.Status != nil && m.Status.ID == id:
			if on.Status != nil {
				on.Status(&m.Status.Result)
			}
		case m.Settling != nil && m.Settling.ID == id:
			if on.Settling != nil {
				on.Settling(m.Settling.Left)
			}
		case m.Halts != nil && m.Halts.ID == id:
			halts = m.Halts.Halts
		case m.Result != nil && m.Result.ID == id:
			m.Result.Halt(halts)
			return &m.Result.Result, nil
		case m.Error != nil && m.Error.ID == id:
			return nil, failed(m.Error)
		}
	}
}

// Stop ends the trial that was prepared or started and has not ended, if there is one, such as that of a client whose
// partner failed. It returns when the trial has ended; Fit reports whether it did.
func (a *Agent) Stop() {
	if a.open != "" && !a.unfit {
		a.abandon(a.open, context.Canceled)
	}
}

// stopGrace is how long a trial may take to end. A kill is quick, except for a process that waits for a disk.
const stopGrace = 2 * time.Second

// abandon stops trial id because of cause, and waits a little until the worker has stopped it, so that the session can be
// used again. Its error wraps cause and says how far the trial got.
func (a *Agent) abandon(id string, cause error) error {
	if errors.Is(cause, ErrLost) {
		return cause
	}
	end := &TrialError{Phase: a.phase, Text: cause.Error(), err: cause}
	end.Waits, end.Since = a.look(cause)
	if err := a.out.Send(wire.Message{Stop: &wire.Stop{ID: id}}); err != nil {
		return errors.Join(cause, a.lost())
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	for {
		m, err := a.next(ctx)
		switch {
		case err != nil:
			// It did not stop: the session is not fit for another trial.
			a.unfit = true
			end.Log, end.err = a.Session.Log(), errors.Join(cause, ErrLost)
			return end
		case m.Error != nil && m.Error.ID == id:
			// Plimsoll itself sent the signal, which says nothing.
			end.Phase, end.Log, end.Done, end.Command = m.Error.Phase, m.Error.Log, m.Error.Done, m.Error.Command
			return end
		case m.Result != nil && m.Result.ID == id:
			// The trial ended at the same moment.
			end.Log = a.Session.Log()
			return end
		}
	}
}
