package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"plimsoll/internal/wire"
	"plimsoll/internal/workload"
	"plimsoll/load"
)

// Trial does one trial: it reads a run request, prepares it, says ready, waits for
// the start, and writes samples and the result. It returns an error only when
// it could not speak with its parent.
func Trial(ctx context.Context, dir string, in io.Reader, out io.Writer) error {
	r, w := wire.NewReader(in), wire.NewWriter(out)
	m, _, err := r.Next()
	if err != nil {
		return err
	}
	if m.Run == nil {
		return errors.New("the first message of a trial is not a run request")
	}
	id := m.Run.ID
	run, err := workload.Prepare(ctx, m.Run.Spec, dir)
	if err != nil {
		return w.Send(wire.Message{Error: describe(id, wire.PhasePrepare, err)})
	}
	defer run.Close()
	if err := w.Send(wire.Message{Ready: &wire.Ready{ID: id}}); err != nil {
		return err
	}
	m, _, err = r.Next()
	if err != nil {
		return err
	}
	if m.Start == nil || m.Start.ID != id {
		return fmt.Errorf("the second message of trial %s is not its start", id)
	}
	res, err := run.Run(ctx, func(s load.Sample) {
		w.Send(wire.Message{Sample: &wire.Sample{ID: id, Sample: s}})
	})
	if err != nil {
		return w.Send(wire.Message{Error: describe(id, wire.PhaseRun, err)})
	}
	return w.Send(wire.Message{Result: &wire.Result{ID: id, Result: *res}})
}

// describe puts an error on the wire.
func describe(id, phase string, err error) *wire.Error {
	e := &wire.Error{ID: id, Phase: phase, Text: err.Error()}
	var partial *workload.PartialError
	if errors.As(err, &partial) {
		e.Done = &partial.Done
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		e.Errno = int(errno)
	}
	return e
}
