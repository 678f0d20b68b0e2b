package witness

import (
	"time"

	"plimsoll/internal/host/procfs"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/workload"
)

// A wait is how long the threads of a virtual machine were ready to run and had no CPU of this machine.
type wait struct {
	at    time.Time
	total time.Duration
	known bool
}

// waits reads the wait of each agent that runs in a virtual machine: the other work of this machine is not visible from
// inside.
func (w *Witness) waits(agents []*agent.Agent) []wait {
	all := make([]wait, len(agents))
	for i, a := range agents {
		if info := a.Session.Info(); info.Guest && info.PID > 0 {
			all[i].at = time.Now()
			_, all[i].total, all[i].known = procfs.Scheduled(w.fs.Proc, info.PID)
		}
	}
	return all
}

// addWaits adds to results how long their machines have waited between two readings, as a share of the time of the
// machine's processors. The wait of a thread that ended in between is lost.
func addWaits(results []workload.Result, agents []*agent.Agent, before, after []wait) {
	for i := range results {
		a, b := before[i], after[i]
		whole := b.at.Sub(a.at) * time.Duration(max(1, agents[i].Hello.CPUs))
		if a.known && b.known && whole > 0 && b.total > a.total {
			results[i].Host.CPUWait = min(1, float64(b.total-a.total)/float64(whole))
		}
	}
}
