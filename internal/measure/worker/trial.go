package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"

	"plimsoll/internal/measure/command"
	"plimsoll/internal/measure/wire"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// Trial does one trial: it reads a run request, prepares it, says ready, waits for the start, and writes samples and the
// result. It stops when in ends. It returns an error only if it could not communicate with its parent.
func Trial(ctx context.Context, folders workload.Folders, in io.Reader, out io.Writer) error {
	load.Calibrate()
	r, w := wire.NewReader(in), wire.NewWriter(out)
	m, _, err := r.Next()
	if err != nil {
		return err
	}
	if m.Run == nil {
		return errors.New("the first message of a trial is not a run request")
	}
	id := m.Run.ID
	// The other processor is idle while the files are laid out.
	warm := make(chan struct{})
	go func() {
		defer close(warm)
		wire.Warm()
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer watchEnd(ctx, os.Stderr)()
	start, finish := make(chan wire.Message, 1), make(chan int, 1)
	ask := make(chan struct{}, 1)
	go listen(r, start, finish, ask, cancel)
	prepare := workload.Prepare
	if m.Run.Spec.Kind == workload.Command {
		prepare = command.Prepare
	}
	run, err := prepare(ctx, m.Run.Spec, folders)
	if err != nil {
		return w.Send(wire.Message{Error: describe(id, wire.PhasePrepare, err)})
	}
	defer run.Close()
	if j, ok := run.(workload.Judged); ok {
		j.OnRound(func(s load.Sample) { w.Send(wire.Message{Round: &wire.Round{ID: id, Sample: s}}) })
		go func() {
			select {
			case from := <-finish:
				j.Finish(from)
			case <-ctx.Done():
			}
		}()
	}
	<-warm
	if err := w.Send(wire.Message{Ready: &wire.Ready{ID: id}}); err != nil {
		return err
	}
	select {
	case m = <-start:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if m.Start == nil || m.Start.ID != id {
		return fmt.Errorf("the second message of trial %s is not its start", id)
	}
	answered := make(chan struct{})
	running, ended := context.WithCancel(ctx)
	go func() {
		defer close(answered)
		reportStatus(running, run, id, ask, w)
	}()
	last := measure(ctx, run, id, w, func() { ended(); <-answered })
	return w.Send(last)
}

// listen passes on the first message of r, and the first later one that asks to finish. It cancels the trial when r ends:
// the agent is gone then, and nothing else would stop the trial. It goes on until r ends.
func listen(r *wire.Reader, first chan<- wire.Message, finish chan<- int, ask chan<- struct{}, cancel context.CancelCauseFunc) {
	for n := 0; ; n++ {
		m, _, err := r.Next()
		if err != nil {
			cancel(fmt.Errorf("the trial's input ended: %w", err))
			return
		}
		switch {
		case n == 0:
			first <- m
		case m.Finish != nil:
			select {
			case finish <- m.Finish.From:
			default:
			}
		case m.Ask != nil:
			select {
			case ask <- struct{}{}:
			default: // A request is being answered.
			}
		}
	}
}

// reportStatus sends a run's result so far each time it is asked, until ctx ends.
func reportStatus(ctx context.Context, run workload.Runner, id string, ask <-chan struct{}, w *wire.Writer) {
	s, ok := run.(workload.StatusRunner)
	for ok {
		select {
		case <-ask:
			w.Send(wire.Message{Status: &wire.Result{ID: id, Result: *s.Status()}})
		case <-ctx.Done():
			return
		}
	}
}

// measure runs a prepared workload, waits for its writes and cleans up after it before its end is reported: what is removed
// or written back later would fall into the next trial. silence stops the status answers before the files are closed.
func measure(ctx context.Context, run workload.Runner, id string, w *wire.Writer, silence func()) wire.Message {
	if h, ok := run.(workload.Hanger); ok {
		h.OnHang(func(r *workload.Result) { w.Send(wire.Message{Hanging: &wire.Result{ID: id, Result: *r}}) })
	}
	resume := holdCollector()
	res, err := run.Run(ctx, func(s load.Sample) {
		w.Send(wire.Message{Sample: &wire.Sample{ID: id, Sample: s}})
	})
	resume()
	if err == nil {
		res.SetBegun()
	}
	if s, ok := run.(workload.Settler); ok && err == nil {
		err = s.Settle(ctx, res, func(left int64) {
			w.Send(wire.Message{Settling: &wire.Settling{ID: id, Left: left}})
		})
	}
	silence()
	closeErr := run.Close()
	if err != nil {
		return wire.Message{Error: describe(id, wire.PhaseRun, err)}
	}
	if closeErr != nil {
		res.Notes = append(res.Notes, fmt.Sprintf("the trial's files could not be removed: %v", closeErr))
	}
	return wire.Message{Result: &wire.Result{ID: id, Result: *res}}
}

// garbage is how many bytes a trial may allocate before Go collects garbage. Block jobs allocate next to nothing in their
// window; append and tree allocate some hundred bytes with each file that they open. It is half of what a worker may take.
const garbage = 16 << 20

// little is a heap size in bytes at which Go has not begun to collect: with the worker's percentage (cmd/worker) it first
// does so at two MiB, and begins somewhat before.
const little = 1 << 20

// holdCollector keeps the garbage collector out of the measured window, where it would stop all threads and take a
// processor. It still collects if a trial allocates more than expected. The returned function restores the settings.
func holdCollector() (resume func()) {
	// Each of these calls stops the world.
	defer keepAwake()()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	// If next to nothing was allocated yet, no collection is under way, and one would find nothing.
	if m.NumGC > 0 || m.HeapAlloc > little {
		runtime.GC()
		runtime.ReadMemStats(&m)
	}
	limit := debug.SetMemoryLimit(int64(m.Sys-m.HeapReleased) + garbage)
	percent := debug.SetGCPercent(-1)
	return func() {
		defer keepAwake()()
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// describe makes a wire error of err.
func describe(id, phase string, err error) *wire.Error {
	e := &wire.Error{ID: id, Phase: phase, Text: err.Error(), Overwrite: errors.Is(err, workload.ErrOverwrite)}
	e.Missing = errors.Is(err, workload.ErrMissing)
	var partial *workload.PartialError
	if errors.As(err, &partial) {
		e.Done = &partial.Done
	}
	var program *workload.CommandError
	if errors.As(err, &program) {
		e.Command = &program.End
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		e.Errno = int(errno)
	}
	return e
}
