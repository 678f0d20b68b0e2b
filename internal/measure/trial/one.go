package trial

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

// trial runs one cell once. It always returns a record, and the error if the trial failed.
func (r *Runner) trial(ctx context.Context, cell record.Cell, block, order int) (*record.Trial, error) {
	spec := r.stretched(r.spec(cell), block)
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

// overhead is the time of a trial that was not spent on: the measured window and the rounds before it, the wait for I/O in
// flight at its end, the job's own ramp time, the layout of its files, the wait for its buffered writes, or reading them
// back.
func overhead(t *record.Trial) time.Duration {
	var window, drained, prepared, settled, verified time.Duration
	for _, res := range t.Results {
		drained = max(drained, res.Drained)
		window = max(window, res.Worked())
		prepared = max(prepared, res.Prepared)
		settled = max(settled, res.Settled)
		verified = max(verified, res.Verified.Took)
	}
	return t.Wall - window - drained - prepared - settled - verified - t.Spec.Job.RampTime
}

// spec is the workload of a cell with its I/O engine, and with its file if the place is a file or a device.
func (r *Runner) spec(cell record.Cell) workload.Spec {
	s := r.engine[cell.Workload]
	if t := r.target(cell); t != "" {
		s.Job.Filename = t
	}
	return s
}

// sessions lists the containers of a cell, one for each client.
func (r *Runner) sessions(cell record.Cell) []sessionSpec {
	// The names come from the plan itself.
	e, _ := r.Plan.Engine(cell.Engine)
	p, _ := r.Plan.Place(cell.Place)
	l, _ := r.Plan.Limit(cell.Limits)
	s := sessionSpec{engine: cell.Engine, control: cell.Control, spec: engine.Spec{
		Place: p, Limits: l, Image: e.Image, Runtime: e.Runtime, Seccomp: e.Seccomp, Isolation: e.Isolation,
	}}
	s.spec.Place = r.ready(p)
	if cell.Source != "" && cell.Source != cell.Place {
		from, _ := r.Plan.Place(cell.Source)
		from = r.ready(from)
		s.spec.Source = &from
	}
	if r.target(cell) != "" {
		s.spec.Place.Path = "" // The worker's own folder can't be inside a file.
	}
	sessions := make([]sessionSpec, cell.Clients)
	for i := range sessions {
		sessions[i] = s
		sessions[i].client = i
	}
	return sessions
}

// ready completes a place for a container: with the disk that was made for it, and the size of a tmpfs.
func (r *Runner) ready(p place.Spec) place.Spec {
	if d := r.disks[p.Name]; d.disk != nil {
		p.Path = d.disk.Path()
	}
	if p.Kind == place.Tmpfs && p.Size == 0 {
		p.Size = r.tmpfsSize()
	}
	return p
}

// tmpfsSize is the size of tmpfs that the plan's workloads need: for the files of the block jobs, which stay for the next
// trial, and for logs and trees.
func (r *Runner) tmpfsSize() int64 {
	const room = 256 << 20
	total, seen := int64(room), map[string]bool{}
	for _, w := range r.Plan.Workloads {
		if w.Kind == workload.Command || w.Kind == workload.Tree {
			if file, n := w.Room(); file != "" && n > room/2 {
				total += n
			}
			continue
		}
		if file, n := w.Room(); w.Kind == workload.Block && !seen[file] {
			seen[file] = true
			total += n
		}
	}
	return total
}

// agents returns the running agents of a cell, and starts the missing ones.
func (r *Runner) agents(ctx context.Context, cell record.Cell) ([]*agent.Agent, time.Duration, error) {
	if err := r.failed[cell.Engine]; err != nil {
		return nil, 0, err
	}
	var agents []*agent.Agent
	var opening time.Duration
	for _, s := range r.sessions(cell) {
		a, d, err := r.pool.get(ctx, s)
		if err != nil {
			return nil, opening, err
		}
		agents = append(agents, a)
		opening += d
	}
	return agents, opening, nil
}

// seeded gives a client's block job a seed of its own, unless the plan sets one. With the same seed, two clients of one
// disk would ask for the same blocks at the same moment, and all files would hold the same data, which some storage stores
// once.
func (r *Runner) seeded(spec workload.Spec, t *record.Trial, client int) workload.Spec {
	if spec.Job.RandSeed == 0 && spec.Kind == workload.Block {
		h := fnv.New64a()
		fmt.Fprint(h, r.run.Seed, " ", t.Block, " ", t.Key, " ", client)
		spec.Job.RandSeed = h.Sum64() | 1 // 0 means the fixed seed.
	}
	return spec
}

// attempt does the trial, and opens containers that don't run.
func (r *Runner) attempt(ctx context.Context, t *record.Trial, spec workload.Spec, limit *timeout) error {
	agents, opening, err := r.agents(ctx, t.Cell)
	t.SessionOpen = opening
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w, while its containers were opened", err)
	}
	if err != nil {
		return err
	}
	// A cell that didn't fit before the first block may fit now.
	if why := r.room.take(r, t.Cell, agents); why != "" {
		return errors.New(why)
	}
	at := attempt{
		agents: agents, flush: r.limitsIO(), witness: r.Witness, target: spec.Job.Filename, timeout: limit, limits: r.sessions(t.Cell)[0].spec.Limits, pool: r.pool,
		spec: func(client int) workload.Spec { return r.seeded(spec, t, client) },
	}
	if err := at.run(ctx, t); err != nil {
		return errors.Join(err, r.dropLost(t.Cell, err))
	}
	if hung(t) {
		return errors.Join(idle(t), r.dropLost(t.Cell, context.DeadlineExceeded))
	}
	return idle(t)
}

// hung reports whether I/Os of t never ended: they may still hang in the next trial.
func hung(t *record.Trial) bool {
	return slices.ContainsFunc(t.Results, func(r workload.Result) bool { return r.AtLeast() > 0 })
}

// dropLost closes the agents of a cell that are gone or did not stop. After a timeout it closes all of them, because the
// cause may affect the next trial. The next trial opens new ones.
func (r *Runner) dropLost(cell record.Cell, err error) error {
	timedOut := errors.Is(err, context.DeadlineExceeded)
	var errs []error
	for _, s := range r.sessions(cell) {
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
		t.Phase, t.Log, t.Progress, t.Command, t.Waits = te.Phase, te.Log, te.Progress(), te.Command, te.Waits
		if c := te.Command; c != nil {
			t.Log = saidBy(c)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		t.Phase = "timeout"
		if te != nil {
			if errors.Is(err, agent.ErrLost) {
				t.Error += ", and the worker doesn't answer"
			}
			t.Error += fmt.Sprintf(" (it was in the phase %s, for %v)", te.Phase, te.Since.Round(time.Millisecond))
		}
	}
}

// saidBy is the output of a program, for a log.
func saidBy(c *workload.CommandEnd) string {
	var parts []string
	for _, out := range []struct{ name, text string }{{"standard output", c.Stdout}, {"standard error", c.Stderr}} {
		if out.text != "" {
			parts = append(parts, out.name+":\n"+out.text)
		}
	}
	return strings.Join(parts, "\n")
}

// limitsIO reports whether any set of limits of the plan limits I/O. All cells are then treated alike.
func (r *Runner) limitsIO() bool {
	return slices.ContainsFunc(r.Plan.Limits, limit.Limits.IO)
}
