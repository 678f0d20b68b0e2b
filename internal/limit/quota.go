package limit

import "math"

// A number of CPUs is held as a quota: what a group may run in each period of the scheduler, both in whole
// microseconds. All who write one convert here, so that the same number is the same quota in a group's file, in a bundle
// and in an engine's configuration.

const (
	// CPUPeriod is the scheduler's period unless it was changed (default_cfs_period in kernel/sched/core.c), and the
	// one that engines and runtimes use if none is given.
	CPUPeriod = int64(100_000)
	// minCPUQuota is the least that the kernel takes of a period (min_cfs_quota_period in the same file).
	minCPUQuota = int64(1000)
)

// CPUQuota is the quota for a number of CPUs, and the period that it is for: that one (0: the usual), but the usual where the
// quota would be less than the kernel takes. It is rounded: 0.29 CPUs are 28999.999 as a float64.
func CPUQuota(cpus float64, period int64) (quota, per int64) {
	if period <= 0 {
		period = CPUPeriod
	}
	if quota = int64(math.Round(cpus * float64(period))); quota < minCPUQuota {
		quota, period = int64(math.Round(cpus*float64(CPUPeriod))), CPUPeriod
	}
	return quota, period
}

// CPUsOf is the number of CPUs that a quota comes to, 0 for none. The period 0 is the usual one.
func CPUsOf(quota, period int64) float64 {
	if quota <= 0 {
		return 0
	}
	if period <= 0 {
		period = CPUPeriod
	}
	return float64(quota) / float64(period)
}

// SameCPUs reports whether two numbers of CPUs are one quota of the period (0: the usual).
func SameCPUs(a, b float64, period int64) bool {
	x, px := CPUQuota(a, period)
	y, py := CPUQuota(b, period)
	return x == y && px == py
}

// NanoCPUs is a number of CPUs in the unit of the Engine's API, 1e-9. It is that of the quota in the usual period: a daemon makes
// that of it, and cuts off (NanoCPUs*period/1e9 in moby, daemon/daemon_unix.go).
func NanoCPUs(cpus float64) int64 {
	if cpus <= 0 {
		return 0
	}
	quota, _ := CPUQuota(cpus, CPUPeriod)
	return quota * (1e9 / CPUPeriod)
}
