package trial

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// ceilingTime is how long the null engine runs before a run: long enough for some hundred thousand operations.
const ceilingTime = 100 * time.Millisecond

// ceiling measures the rate of one generator thread without any I/O. The program is the same in every container, so one
// measurement is enough. It avoids containers with limited CPUs if it can.
func (r *Runner) ceiling(ctx context.Context) {
	if r.run.Ceiling.IOPS > 0 {
		return
	}
	r.run.Ceiling.CPUs = runtime.NumCPU()
	s, ok := r.runningSession()
	if !ok {
		return
	}
	a := r.pool.agents[s.key()]
	v, err := nullRate(ctx, a)
	if err != nil {
		r.warn(record.Note, "ceiling", fmt.Sprintf("the generator's own ceiling could not be measured: %v", err))
		if !a.Fit() {
			r.pool.drop(s)
		}
		return
	}
	r.run.Ceiling.IOPS = v
}

// runningSession finds a running agent, of a cell without limits if possible.
func (r *Runner) runningSession() (found sessionSpec, ok bool) {
	for _, c := range r.cells {
		s := r.sessions(c)[0]
		if r.pool.agents[s.key()] == nil {
			continue
		}
		if s.spec.Limits.IsZero() {
			return s, true
		}
		if !ok {
			found, ok = s, true
		}
	}
	return found, ok
}

// nullRate runs the null engine once in an agent.
func nullRate(ctx context.Context, a *agent.Agent) (float64, error) {
	spec := workload.Spec{Name: "null", Kind: workload.Block, Job: load.Job{
		RW: load.RandRead, BS: 4096, IODepth: 32, Size: 1 << 30, Runtime: ceilingTime, IOEngine: load.Null,
	}}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := a.Prepare(ctx, "null", spec); err != nil {
		return 0, err
	}
	if err := a.Start("null"); err != nil {
		return 0, err
	}
	res, err := a.Wait(ctx, "null", nil)
	if err != nil {
		return 0, err
	}
	return nullSpeed(res), nil
}

// nullSpeed is the rate of a thread on the null engine while it has a CPU. Other work may take the CPU from it, which is no
// limit of the generator's.
func nullSpeed(r *workload.Result) float64 {
	took := r.Elapsed
	if used := r.Usage.User + r.Usage.System; used > 0 {
		took = min(took, used)
	}
	if took <= 0 {
		return 0
	}
	return float64(r.Ops()) / took.Seconds()
}
