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

// An attempt is one trial in running containers: all clients are prepared, then started together, then awaited.
type attempt struct {
	agents []*agent.Agent
	// spec returns a client's workload.
	spec func(client int) workload.Spec
	// limits apply to each container. target is the file or device under test, if the plan names one.
	limits limit.Limits
	target string
	// pool is where the agents are from. It keeps limits that could not be removed.
	pool *pool
	// flush makes the kernel's flusher write back what clients leave in the page cache.
	flush bool
	// timeout is extended while buffered writes make progress; it may be nil.
	timeout *timeout
	// prepared, unless nil, is called when all clients have their files, or when that failed.
	prepared func()
	// witness and onSample may be nil. onSample gets the samples of all clients.
	witness  Witness
	onSample func(load.Sample)
	// onStatus, unless nil, receives each status of a trial with one client. asking is called with the function that asks
	// for it when the trial begins, and with nil when it has ended.
	onStatus func(*workload.Result)
	asking   func(ask func())
}

// run does the trial and fills in its results in t. After an error no client is still at work, unless its agent is unfit.
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

// unsettled returns spec without its own sync at the end if the flush f writes the page cache back.
func unsettled(spec workload.Spec, f *flush) workload.Spec {
	spec.Unsettled = spec.Unsettled || f != nil
	return spec
}

// measure starts clients that are ready, and has the witness observe them.
func (a *attempt) measure(ctx context.Context, t *record.Trial, id string, flush *flush) error {
	// The cell's limits are set before the witness looks, so that it doesn't report limits that they replace.
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
		err = errors.Join(err, a.pool.release(hold))
	} else {
		after(t)
	}
	for i := range t.Where {
		t.Where[i].Limits, t.Where[i].Held = a.limits.String(), hold.Of(i)
		t.Where[i].Foreign = hold.Foreign(t.Where[i].Foreign)
	}
	return err
}

// late explains a timeout that came while plimsoll itself looked at the storage and set limits: the workers are not the
// cause. After an interrupt it returns the interrupt.
func late(ctx context.Context, took time.Duration) error {
	cause := context.Cause(ctx)
	if !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return fmt.Errorf("%w: its workers were ready, but looking at the storage and setting the limits took %v", cause, took.Round(time.Millisecond))
}

// hold puts the limits on I/O in force. It runs after the layout of files, which they don't apply to.
func (a *attempt) hold(ctx context.Context) (*engine.Hold, error) {
	sessions := make([]engine.Session, len(a.agents))
	for i, one := range a.agents {
		sessions[i] = one.Session
	}
	// Those of an earlier trial count as another program's while they stay. Their error was returned then.
	_ = a.pool.releaseLeft()
	hold, err := engine.HoldAll(ctx, sessions, a.pool.machine)
	if err != nil && hold != nil {
		a.pool.left = append(a.pool.left, hold)
	}
	if err != nil {
		return nil, err
	}
	return hold, nil
}

// start is the barrier: everything is prepared, so one short line to each client begins its I/O. It returns the time
// between the first client's start and the last one's.
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

// wait collects the results of all clients, and reports ends of their windows to the timeout. The first error stops the
// others.
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
			// Its window was measured. The I/Os that never ended took at least that long.
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

// each calls f for all agents concurrently and returns the first error. It skips errors that only echo another's, since an
// error ends the context of the others.
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

// firstError picks the first error of all clients that is no echo of another's. It names the client if there are several.
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
