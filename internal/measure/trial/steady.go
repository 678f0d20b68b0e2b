package trial

import (
	"sync"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// A steadyJudge decides for all clients of a trial together, round by round, whether the steady state is reached, and then
// ends the trial. If each client decided for itself, one would end early, and the others would be measured without its
// load.
type steadyJudge struct {
	id     string
	agents []*agent.Agent
	unit   string
	// most is how many rounds a client can have had; later ones are ignored.
	most int

	mu     sync.Mutex
	each   [][]load.Sample // by client
	judged int             // rounds that all clients have ended and that were judged
	done   bool
}

// newSteadyJudge makes the judge of trial id.
func newSteadyJudge(agents []*agent.Agent, id string, spec workload.Spec) *steadyJudge {
	j := &steadyJudge{id: id, agents: agents, unit: spec.Metric().Unit, each: make([][]load.Sample, len(agents))}
	if r := spec.Steady.Round; r > 0 {
		j.most = int(spec.Job.Runtime/r) + 1
	}
	return j
}

// round receives the next round of client i.
func (j *steadyJudge) round(i int, s load.Sample) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.done || len(j.each[i]) >= j.most {
		return
	}
	j.each[i] = append(j.each[i], s)
	for _, c := range j.each {
		if len(c) <= j.judged {
			return // Not all clients have ended the round.
		}
	}
	j.judged++
	from, ok := workload.SteadyFrom(j.each, j.unit)
	if !ok {
		return
	}
	j.done = true
	for _, a := range j.agents {
		a.Finish(j.id, from)
	}
}
