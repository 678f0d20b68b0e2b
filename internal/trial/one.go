package trial

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/agent"
	"plimsoll/internal/engine"
	"plimsoll/internal/place"
	"plimsoll/internal/record"
	"plimsoll/internal/size"
	"plimsoll/internal/workload"
)

// trial runs one cell once. It always returns a record.
func (r *Runner) trial(ctx context.Context, cell record.Cell, block, order int) *record.Trial {
	t, _ := r.try(ctx, cell, block, order)
	return t
}

// try is trial with the error that made it fail.
func (r *Runner) try(ctx context.Context, cell record.Cell, block, order int) (*record.Trial, error) {
	spec := r.spec(cell)
	t := &record.Trial{
		Run: r.run.ID, Cell: cell, Key: r.Plan.Key(cell), Block: block, Order: order,
		Started: time.Now(), Status: record.Done, Spec: spec, Metric: spec.Metric(),
	}
	ctx, limit := withTimeout(ctx, r.Plan.Timeout, cell.Clients)
	defer limit.stop()
	err := limit.explain(ctx, r.attempt(ctx, t, spec, limit))
	if err != nil {
		fail(t, err)
	}
	t.Wall = time.Since(t.Started)
	if t.Status == record.Done {
		t.Overhead = overhead(t)
	}
	return t, err
}

// overhead is the part of a trial that is not the measured window, the job's
// own ramp time, the layout of its files, or the wait for its buffered writes.
func overhead(t *record.Trial) time.Duration {
	var window, prepared, settled time.Duration
	for _, res := range t.Results {
		window = max(window, res.Elapsed)
		prepared = max(prepared, res.Prepared)
		settled = max(settled, res.Settled)
	}
	return t.Wall - window - prepared - settled - t.Spec.Job.RampTime
}

// spec is the workload of a cell with its I/O engine, and with its file if the
// place is one.
func (r *Runner) spec(cell record.Cell) workload.Spec {
	s := r.engine[cell.Workload]
	if t := r.target(cell); t != "" {
		s.Job.Filename = t
	}
	return s
}

// seats lists the containers of a cell, one a client.
func (r *Runner) seats(cell record.Cell) []seat {
	// The names come from the plan itself.
	e, _ := r.Plan.Engine(cell.Engine)
	p, _ := r.Plan.Place(cell.Place)
	l, _ := r.Plan.Limit(cell.Limits)
	s := seat{engine: cell.Engine, control: cell.Control, spec: engine.Spec{
		Place: p, Limits: l, Image: e.Image, Runtime: e.Runtime, Seccomp: e.Seccomp,
	}}
	if p.Kind == place.Tmpfs && p.Size == 0 {
		s.spec.Place.Size = r.tmpfsSize()
	}
	if r.target(cell) != "" {
		s.spec.Place.Path = "" // The worker's own folder can't be in a file.
	}
	seats := make([]seat, cell.Clients)
	for i := range seats {
		seats[i] = s
		seats[i].client = i
	}
	return seats
}

// tmpfsSize is what the plan's workloads need of a tmpfs: the files of the block jobs,
// which stay for the next trial, and room for logs and trees.
func (r *Runner) tmpfsSize() int64 {
	const room = 256 << 20
	total, seen := int64(room), map[int64]bool{}
	for _, w := range r.Plan.Workloads {
		if file := w.Job.Offset + w.Job.Size; w.Kind == workload.Block && !seen[file] {
			seen[file] = true
			total += file
		}
	}
	return total
}

// agents returns the running agents of a cell, starting what doesn't run.
func (r *Runner) agents(ctx context.Context, cell record.Cell) ([]*agent.Agent, time.Duration, error) {
	var agents []*agent.Agent
	var opening time.Duration
	for _, s := range r.seats(cell) {
		a, d, err := r.pool.get(ctx, s)
		if err != nil {
			return nil, opening, err
		}
		agents = append(agents, a)
		opening += d
	}
	return agents, opening, nil
}

// seeded gives a client's block job a seed of its own, unless the plan sets one: with
// the same seed two clients of one disk would ask for the same blocks at the same
// moment, and all files would hold the same data, which some storage keeps once.
func (r *Runner) seeded(spec workload.Spec, t *record.Trial, client int) workload.Spec {
	if spec.Job.RandSeed == 0 && spec.Kind == workload.Block {
		h := fnv.New64a()
		fmt.Fprint(h, r.run.Seed, " ", t.Block, " ", t.Key, " ", client)
		spec.Job.RandSeed = h.Sum64() | 1 // 0 would mean the fixed seed.
	}
	return spec
}

// attempt does the trial: prepare all clients, start them together, wait for all.
func (r *Runner) attempt(ctx context.Context, t *record.Trial, spec workload.Spec, limit *timeout) error {
	agents, opening, err := r.agents(ctx, t.Cell)
	t.SessionOpen = opening
	if err != nil {
		return err
	}
	// A cell that could not be opened before the first block may have no room now.
	if why := r.room.take(r, t.Cell, agents); why != "" {
		return errors.New(why)
	}
	kills := oomKills(agents)
	id := fmt.Sprintf("%d", t.Order)
	err = each(ctx, agents, func(ctx context.Context, i int, a *agent.Agent) error {
		return a.Prepare(ctx, id, r.seeded(spec, t, i))
	})
	if err == nil {
		after := func(t *record.Trial) { t.Where = make([]record.Where, len(agents)) }
		if r.Witness != nil {
			after = r.Witness.Before(agents, spec.Job.Filename)
		}
		t.StartSkew, err = start(agents, id)
		if err == nil {
			t.Results, err = wait(ctx, agents, id, limit)
		}
		after(t)
		for i := range t.Where {
			t.Where[i].Limits = r.seats(t.Cell)[i].spec.Limits.String()
		}
	}
	if err != nil {
		// Clients that were ready or had started when another failed.
		for _, a := range agents {
			a.Stop()
		}
		err = explainKill(err, agents, kills, r.seats(t.Cell)[0].spec.Limits)
		return errors.Join(err, r.dropLost(t.Cell, err))
	}
	t.Value = workload.Together(t.Results, t.Metric)
	return nil
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

// wait collects the results of all clients, and tells limit when their windows are over. The first error stops the others.
func wait(ctx context.Context, agents []*agent.Agent, id string, limit *timeout) ([]workload.Result, error) {
	results := make([]workload.Result, len(agents))
	err := each(ctx, agents, func(ctx context.Context, i int, a *agent.Agent) error {
		a.OnSettling = func(left int64) { limit.settling(i, left) }
		res, err := a.Wait(ctx, id, nil)
		a.OnSettling = nil
		limit.measured(i)
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

// oomKills reads how often the kernel has killed in each agent's group.
func oomKills(agents []*agent.Agent) []int64 {
	kills := make([]int64, len(agents))
	for i, a := range agents {
		kills[i], _ = engine.OOMKills(a.Session.Info().PID)
	}
	return kills
}

// explainKill says so when a kill was the kernel's, for want of memory.
func explainKill(err error, agents []*agent.Agent, before []int64, l engine.Limits) error {
	var te *agent.TrialError
	if !errors.As(err, &te) || strings.Contains(te.Text, "out of memory") {
		return err
	}
	limit := ""
	if l.Memory > 0 {
		limit = " (memory limit " + size.Bytes(l.Memory) + ")"
	}
	if te.Signal == "" {
		// The group of an agent that was killed itself went with it.
		if errors.Is(err, agent.ErrLost) && l.Memory > 0 && strings.Contains(te.Text, "killed") {
			return fmt.Errorf("%w; perhaps out of memory%s", err, limit)
		}
		return err
	}
	for i, a := range agents {
		if n, ok := engine.OOMKills(a.Session.Info().PID); ok && n > before[i] {
			return fmt.Errorf("%w: out of memory%s", err, limit)
		}
	}
	return err
}

// dropLost closes the agents of a cell that are gone or did not stop, and all of
// them after a timeout: what kept the cell from ending may keep the next. The
// next trial opens new ones.
func (r *Runner) dropLost(cell record.Cell, err error) error {
	timedOut := errors.Is(err, context.DeadlineExceeded)
	var errs []error
	for _, s := range r.seats(cell) {
		if a := r.pool.agents[s.key()]; a != nil && (timedOut || !a.Fit()) {
			errs = append(errs, r.pool.drop(s))
		}
	}
	return errors.Join(errs...)
}

// fail turns an error into a record of a failed trial.
func fail(t *record.Trial, err error) {
	t.Status, t.Error = record.Failed, err.Error()
	t.Value, t.Results = 0, nil
	t.Phase = "open"
	var te *agent.TrialError
	if errors.As(err, &te) {
		t.Phase, t.Log, t.Progress = te.Phase, te.Log, te.Progress()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		t.Phase = "timeout"
	}
}
