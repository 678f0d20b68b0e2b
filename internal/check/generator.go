package check

import (
	"strings"
	"time"

	"plimsoll/internal/record"
	"plimsoll/internal/size"
	"plimsoll/load"
)

const (
	// ceilingShare is the share of the generator's own ceiling above which the
	// generator, not the storage, is measured (fio and kbench users' rule).
	ceilingShare = 0.8
	// cpuShare is the share of its CPUs that a busy generator uses, and busyShare
	// the share of time below which the device was plainly waiting for it.
	cpuShare  = 0.9
	busyShare = 0.5
)

// checkIOEngine tells whether the job's own I/O engine did it, asynchronously.
func checkIOEngine(v *view) []record.Warning {
	if !v.block {
		return nil
	}
	j := v.t.Spec.Job
	for i := range v.t.Results {
		used := v.t.Results[i].IOEngine
		e := map[string]any{"asked": j.IOEngine, "used": used}
		if j.IOEngine != "" && used != j.IOEngine {
			return warning(IOEngine, record.Doubt, e, "The job asked for the I/O engine %s and was done by %s.", j.IOEngine, used)
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
				"%s is %s of what the load generator can do at all here (%s on the null engine): it measures the generator.",
				rate(iops, "1/s"), percent(iops/ceiling), rate(ceiling, "1/s"))
		}
	}
	return v.cpuBound(cpus)
}

// cpuBound tells whether the generator used all of its CPUs while the device
// waited. Cached I/O is CPU time by nature, and checkCache has said so.
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
		"The worker used %.2f of the %d CPUs that it can use, while %s was busy %s of the time: the CPU is the limit, not the storage.",
		used, cpus, v.truth.Device, percent(busy))
}

// checkThrottled tells whether the CPU controller stopped a worker. Where the cell
// has a CPU limit that is what was asked for.
func checkThrottled(v *view) []record.Warning {
	var periods int64
	var stopped time.Duration
	for i := range v.t.Results {
		periods += v.t.Results[i].Throttled.Periods
		stopped += v.t.Results[i].Throttled.Time
	}
	if periods <= 0 {
		return nil
	}
	severity := record.Doubt
	if strings.Contains(strings.ToLower(v.where.Limits), "cpu") {
		severity = record.Note
	}
	return warning(Throttled, severity, map[string]any{"periods": periods, "time_ns": int64(stopped), "elapsed_ns": int64(v.elapsed)},
		"The CPU controller stopped the worker %s, for %s in all of a window of %s.", times(periods), size.Duration(stopped), size.Duration(v.elapsed))
}
