package check

import (
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/size"
	"plimsoll/load"
)

const (
	// haltShare is the share of the window for which a worker may stand still: the margin that figures are compared with.
	// haltFloor is the least halt that its agent can see: it looks every 10 ms.
	haltShare = 0.05
	haltFloor = 10 * time.Millisecond
	// starvedShare is the share of the window for which the worker's threads may wait for a CPU. On a quiet computer they
	// wait for each other, and for the kernel's work on their I/O.
	starvedShare = 0.2
	starvedFloor = 30 * time.Millisecond
)

// causes are the reasons why a process stood still, in words.
var causes = map[string]string{
	workload.HaltSignal:  "a signal had stopped it (SIGSTOP)",
	workload.HaltTracer:  "a debugger or tracer was attached to it",
	workload.HaltFreezer: "the freezer held its control group",
	workload.HaltAll:     "its control group was frozen or got no CPU time, or the machine itself was paused",
}

// checkHalted reports that the worker did not run although no I/O held it up, with the cause and the share of the window.
// The figure doesn't describe the storage then.
func checkHalted(v *view) []record.Warning {
	var out []record.Warning
	stops, around := v.stops()
	for _, g := range around {
		stops.Time += g.Time
	}
	halted, starved := map[string]time.Duration{}, 0.0
	var fetched int64
	for i := range v.results {
		r := &v.results[i]
		for _, h := range r.Halted {
			halted[h.Cause] = max(halted[h.Cause], h.Time)
		}
		starved, fetched = max(starved, r.Starved), max(fetched, r.Fetched)
	}
	for _, cause := range []string{workload.HaltSignal, workload.HaltTracer, workload.HaltFreezer, workload.HaltAll} {
		d := min(halted[cause], v.elapsed)
		if cause == workload.HaltAll {
			// checkThrottled reports the CPU controller's stops, and checkNeighbour other work on a virtual machine's
			// computer.
			d -= stops.Time + time.Duration(v.host().CPUWait*float64(v.elapsed))
		}
		if d < haltFloor || cause != workload.HaltTracer && float64(d) <= haltShare*float64(v.elapsed) {
			continue
		}
		share := float64(d) / float64(v.elapsed)
		out = append(out, warning(Halted, record.Doubt, map[string]any{"cause": cause, "time_ns": int64(d), "share": share},
			"The worker did not run for %s, %s of the window, although no I/O held it up: %s.", size.Duration(d), percent(share), causes[cause])...)
	}
	return append(append(out, v.starved(starved, stops.Time)...), v.fetched(fetched)...)
}

// starved reports that the worker was ready to run but had no CPU, because other work used them. A worker that used all of
// its CPUs itself only waited for its own threads.
func (v *view) starved(share float64, stopped time.Duration) []record.Warning {
	cpus := float64(v.host().Allowed)
	if cpus <= 0 || v.elapsed <= 0 {
		return nil
	}
	share -= stopped.Seconds() / v.elapsed.Seconds()
	left := 1 - v.cpu().Seconds()/v.elapsed.Seconds()/cpus
	share = min(share, left)
	if !(share > starvedShare) || time.Duration(share*float64(v.elapsed)) < starvedFloor {
		return nil
	}
	why := "other work used the " + cpuWord(v.host().Allowed) + " that it may use"
	if hidden := "something kept it from them, such as a quota of a control group that can't be seen from here"; v.idleCPUs() >= share {
		why = "CPUs that it may use were idle, but " + hidden
		if v.othersCPU() >= share {
			// The CPUs may have been idle at another time.
			why = "other work used the " + cpuWord(v.host().Allowed) + " that it may use for a part of the time; or they were idle, but " + hidden
		}
	}
	return warning(Halted, record.Doubt, map[string]any{"cause": "cpu", "share": share, "cpu_busy": v.host().CPUBusy},
		"For %s of the window the worker was ready to run, but had no CPU: %s.", percent(share), why)
}

// idleCPUs is how many of the worker's CPUs were idle on average. It is 0 where the worker may use only a part of the
// machine's CPUs: which ones were idle is unknown.
func (v *view) idleCPUs() float64 {
	h := v.host()
	if h.CPUs <= 0 || h.Allowed < h.CPUs {
		return 0
	}
	return float64(h.CPUs) * (1 - h.CPUBusy)
}

// cpuWord is "CPU" or "2 CPUs".
func cpuWord(n int) string {
	if n == 1 {
		return "CPU"
	}
	return size.Count(float64(n)) + " CPUs"
}

// fetched reports that the kernel took away the worker's own memory and read it back in the window. A job that maps its
// file always reads this way.
func (v *view) fetched(pages int64) []record.Warning {
	waited := v.host().MemorySome
	if pages <= 0 || waited <= waitedMemory || v.t.Results[0].IOEngine == load.MMap {
		return nil
	}
	return warning(Halted, record.Doubt, map[string]any{"cause": "memory", "pages": pages, "share": waited},
		"The kernel had dropped or swapped out %d pages of the worker's own memory, and the worker waited for them. Tasks of this machine waited for memory for %s of the window.", pages, percent(waited))
}
