package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/size"
	"plimsoll/load"
)

const (
	// ceilingShare is the share of the generator's own ceiling above which the figure measures the generator and not the
	// storage. Users of fio and kbench use the same rule.
	ceilingShare = 0.8
	// cpuShare is the share of its CPUs that a busy generator uses. busyShare is the busy time of the device below which it
	// was plainly waiting for the generator.
	cpuShare  = 0.9
	busyShare = 0.5
)

// checkIOEngine reports whether the job's chosen I/O engine did the I/O, asynchronously.
func checkIOEngine(v *view) []record.Warning {
	if !v.block {
		return nil
	}
	j := v.t.Spec.Job
	for i := range v.t.Results {
		used := v.t.Results[i].IOEngine
		e := map[string]any{"asked": j.IOEngine, "used": used}
		if j.IOEngine != "" && used != j.IOEngine {
			return warning(IOEngine, record.Doubt, e, "The job asked for the I/O engine %s, but %s did its I/O.", j.IOEngine, used)
		}
		if used == load.LinuxAIO && !v.direct && max(j.IODepth, 1) > 1 {
			return warning(IOEngine, record.Doubt, e, "linux-aio is asynchronous with O_DIRECT only: this buffered job had a depth of 1, not %d.", j.IODepth)
		}
	}
	return nil
}

// checkGenerator is check 7: was the load generator the limit?
func checkGenerator(v *view) []record.Warning {
	if !v.block || v.elapsed <= 0 {
		return nil
	}
	cpus := v.threads
	if n := v.run.Ceiling.CPUs; n > 0 {
		cpus = min(cpus, n)
	}
	if ceiling := v.run.Ceiling.IOPS * float64(cpus); ceiling > 0 {
		iops := float64(ops(v.machine)) / v.elapsed.Seconds()
		if iops > ceilingShare*ceiling {
			return warning(Generator, record.Doubt, map[string]any{"iops": iops, "ceiling": ceiling},
				"%s is %s of the load generator's own maximum here (%s on the null engine): the figure measures the generator, not the storage.",
				rate(iops, "1/s"), percent(iops/ceiling), rate(ceiling, "1/s"))
		}
	}
	return v.cpuBound(cpus)
}

// cpuBound reports whether the generator used all of its CPUs while the device waited. Cached I/O always takes CPU time,
// and checkCache has reported it.
func (v *view) cpuBound(cpus int) []record.Warning {
	if !v.onDisk() || !v.arrived() || v.truth.DeviceBusy < 0 {
		return nil
	}
	used := v.cpu().Seconds() / v.elapsed.Seconds()
	busy := v.truth.DeviceBusy.Seconds() / v.elapsed.Seconds()
	if used < cpuShare*float64(cpus) || busy >= busyShare {
		return nil
	}
	return warning(Generator, record.Doubt, map[string]any{"cpus_used": used, "cpus": cpus, "device_busy": busy},
		"The worker used %.2f of the %d CPUs that it can use, while %s was busy for %s of the time: the CPU is the limit, not the storage.",
		used, cpus, v.truth.Device, percent(busy))
}

// checkThrottled reports whether the CPU controller stopped a worker, and which group's quota did. If the cell has a CPU
// limit, stops by its own group were asked for; stops by a group above never were.
func checkThrottled(v *view) []record.Warning {
	own, around := v.stops()
	var out []record.Warning
	if own.Periods > 0 {
		severity := record.Doubt
		if v.asksCPUs() {
			severity = record.Note
		}
		out = append(out, v.stopped(severity, own, "")...)
	}
	for _, g := range around {
		by := fmt.Sprintf(", because the control group %s has a quota of %.2f CPUs", g.Group, g.CPUs)
		out = append(out, v.stopped(record.Doubt, g, by)...)
	}
	return out
}

// asksCPUs reports whether the cell has a CPU limit.
func (v *view) asksCPUs() bool { return strings.Contains(strings.ToLower(v.where.Limits), "cpu") }

// stopped words the stops of a group.
func (v *view) stopped(severity string, g workload.ThrottledGroup, by string) []record.Warning {
	e := map[string]any{"periods": g.Periods, "time_ns": int64(g.Time), "elapsed_ns": int64(v.elapsed)}
	if by != "" {
		e["group"], e["cpus"] = g.Group, g.CPUs
	}
	return warning(Throttled, severity, e,
		"The CPU controller stopped the worker %s, for %s in total, in a window of %s%s.", times(g.Periods), size.Duration(g.Time), size.Duration(v.elapsed), by)
}

// sameQuota is how far a quota may be from the limit that was asked for and still be the same: the kernel has whole
// microseconds.
const sameQuota = 0.01

// stops are the CPU controller's stops of the clients: by the limit of the cell or an unknown quota, and by each group with
// another quota. Clients that share a group were stopped together.
func (v *view) stops() (own workload.ThrottledGroup, around []workload.ThrottledGroup) {
	for i := range v.t.Results {
		r := &v.t.Results[i].Throttled
		groups := r.Groups
		if len(groups) == 0 {
			groups = []workload.ThrottledGroup{{Periods: r.Periods, Time: r.Time}}
		}
		for _, g := range groups {
			at := slices.IndexFunc(around, func(o workload.ThrottledGroup) bool { return o.Group == g.Group })
			switch {
			case v.asked(g):
				own.Periods, own.Time = own.Periods+g.Periods, own.Time+g.Time
			case at < 0:
				around = append(around, g)
			case g.Periods > around[at].Periods:
				around[at] = g
			}
		}
	}
	return own, around
}

// asked reports whether a group's quota is the cell's own limit, as far as that can be known.
func (v *view) asked(g workload.ThrottledGroup) bool {
	if g.CPUs <= 0 {
		return true
	}
	asked := v.where.Held.Of(limit.CPUs)
	return v.asksCPUs() && (asked == 0 || math.Abs(g.CPUs-asked) <= sameQuota*asked)
}
