package trial

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// An attempt is one trial in containers that run: all clients are prepared, then started together,
// then awaited.
type attempt struct {
	agents []*agent.Agent
	// spec is what a client does.
	spec func(client int) workload.Spec
	// limits are what each container must stay under, target is the file or device under test, if one is named.
	limits limit.Limits
	target string
	// machine is the runner's.
	machine string
	// flush leaves it to the kernel's flusher to write back what clients leave in the page cache.
	flush bool
	// timeout is told of the wait for buffered writes; it may be nil.
	timeout *timeout
	// prepared, unless nil, is called when all clients have their files, or when that failed.
	prepared func()
	// witness and onSample may be nil. Samples are those of all clients.
	witness  Witness
	onSample func(load.Sample)
	// onStatus, unless nil, receives each answer to an ask of a trial with one client. asking is called with the function that asks when
	// the trial begins, and with nil when it has ended.
	onStatus func(*workload.Result)
	asking   func(ask func())
}

// run fills in what t measured. After an error no client works on, unless it is unfit.
func (a *attempt) run(ctx context.Context, t *record.Trial) error {
	flush := a.openFlush(a.spec(0))
	defer flush.close()
	memory := agent.WatchMemory(a.agents, a.limits.Memory)
	id := strconv.Itoa(t.Order)
	err := each(ctx, a.agents, func(ctx context.Context, i int, one *agent.Agent) error {
		return one.Prepare(ctx, id, unsettled(a.spec(i), flush))
	})
	if a.prepared != nil {
		a.prepared()
	}
	if err == nil {
		err = a.measure(ctx, t, id, flush)
	}
	if err != nil {
		// Clients that were ready or had started when another failed.
		for _, one := range a.agents {
			one.Stop()
		}
		return memory.Explain(err)
	}
	t.Value = workload.Together(t.Results, t.Metric)
	return nil
}

// unsettled leaves what spec writes in the page cache if f writes it back.
func unsettled(spec workload.Spec, f *flush) workload.Spec {
	spec.Unsettled = spec.Unsettled || f != nil
	return spec
}

// measure starts clients that are ready, and has it witnessed what they do.
func (a *attempt) measure(ctx context.Context, t *record.Trial, id string, flush *flush) error {
	// The witness looks at limits too, and may take what the cell's own replace for no other.
	begin := time.Now()
	hold, err := a.hold(ctx)
	after := func(t *record.Trial) { t.Where = make([]record.Where, len(a.agents)) }
	if a.witness != nil {
		after = a.witness.Before(a.agents, a.target)
	}
	if err == nil {
		if err = late(ctx, time.Since(begin)); err == nil {
			t.StartSkew, err = start(a.agents, id)
		}
		if err == nil {
			t.Results, err = a.wait(ctx, id, t.Spec)
		}
		after(t)
		if err == nil && flush != nil && ctx.Err() == nil {
			err = flush.run(ctx, a, t, t.Where)
		}
		err = errors.Join(err, hold.Release())
	} else {
		after(t)
	}
	for i := range t.Where {
		t.Where[i].Limits, t.Where[i].Held = a.limits.String(), hold.Of(i)
		t.Where[i].Foreign = hold.Foreign(t.Where[i].Foreign)
	}
	return err
}

// late says that the timeout came while plimsoll itself looked at what the clients stand on and set limits, if so: the workers have
// nothing to do with it. After an interrupt it is the interrupt.
func late(ctx context.Context, took time.Duration) error {
	cause := context.Cause(ctx)
	if !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return fmt.Errorf("%w: its workers were ready, and to look at the storage and set the limits took %v", cause, took.Round(time.Millisecond))
}

// hold puts the limits on I/O in force: after the layout of files, which is not what they are asked for.
func (a *attempt) hold(ctx context.Context) (*engine.Hold, error) {
	sessions := make([]engine.Session, len(a.agents))
	for i, one := range a.agents {
		sessions[i] = one.Session
	}
	return engine.HoldAll(ctx, sessions, a.machine)
}

// start is the barrier: everything is prepared, so that one short line to each
// client begins its I/O. It returns the time between the first and the last.
func start(agents []*agent.Agent, id string) (time.Duration, error) {
	begin := time.Now()
	for _, a := range agents {
		if err := a.Start(id); err != nil {
			return 0, err
		}
	}
	if len(agents) == 1 {
		return 0, nil
	}
	return time.Since(begin), nil
}

// wait collects the results of all clients, and tells the timeout when their windows are over. The first error stops
// the others.
func (a *attempt) wait(ctx context.Context, id string, spec workload.Spec) ([]workload.Result, error) {
	judge := newSteadyJudge(a.agents, id, spec)
	results := make([]workload.Result, len(a.agents))
	if a.onStatus != nil {
		a.asking(func() { a.agents[0].Ask(id) })
		defer a.asking(nil)
	}
	err := each(ctx, a.agents, func(ctx context.Context, i int, one *agent.Agent) error {
		var hanging *workload.Result
		res, err := one.Hear(ctx, id, agent.Events{
			Hanging: func(r *workload.Result) { hanging = r },
			Sample:  a.onSample, Round: func(s load.Sample) { judge.round(i, s) }, Status: a.onStatus,
			Settling: func(left int64) { a.timeout.settling(i, left) },
		})
		a.timeout.measured(i)
		if hanging != nil && errors.Is(err, context.DeadlineExceeded) {
			// Its window was measured. What never ended took so long at least.
			res, err = hanging, nil
		}
		if err != nil {
			return err
		}
		results[i] = *res
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// each calls f for all agents side by side and returns the first error that
// is not just the echo of another's: an error ends the context of the others.
func each(ctx context.Context, agents []*agent.Agent, f func(context.Context, int, *agent.Agent) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(agents))
	var wg sync.WaitGroup
	for i, a := range agents {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if errs[i] = f(ctx, i, a); errs[i] != nil {
				cancel()
			}
		}()
	}
	wg.Wait()
	return firstError(errs)
}

// firstError picks the error to tell from those of all clients: the first that
// is no echo, and says which client's it is if there are several.
func firstError(errs []error) error {
	var echo error
	for i, err := range errs {
		if err == nil {
			continue
		}
		if len(errs) > 1 {
			err = fmt.Errorf("client %d: %w", i+1, err)
		}
		if !errors.Is(err, context.Canceled) {
			return err
		}
		if echo == nil {
			echo = err
		}
	}
	return echo
}
