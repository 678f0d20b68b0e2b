// Package watch measures the I/O of containers and devices, interval by interval.
//
// A Sampler reads the kernel's counters into a Sample. Between takes two samples and returns an Interval: for every
// subject (a container, a group, a unit, a process's groups) the I/O of its application, the I/O that devices did for
// it, and its limits with the rates seen; for every volume the I/O of its device; and for every device the columns of
// iostat -x. Reading and arithmetic are separate, so that tests can use made-up counters, and a daemon can call
// either.
//
// Easily got wrong:
//
//   - A byte that passes a stack of devices is charged once on each. A subject's total counts it once (see Charge).
//   - A missing counter is not 0: with version 1, a kernel from 6.10 on counts only on disks that have had a limit. What isn't counted
//     is nil here, never 0.
//   - With version 1 the kernel writes back buffered data in the root group, without a charge to the writer's group. An Interval says
//     how much that may be (Usage.Uncharged) and what the root group did (Interval.RootGroup).
//   - A process adds its counters to those of the parent that waits for it, so the counters of a group's processes are added up
//     before the difference is taken (see appUse).
//
// The sources are Documentation/admin-guide/iostats.rst, cgroup-v2.rst, cgroup-v1/blkio-controller.rst and
// accounting/psi.rst of the kernel, proc_pid_io(5), and iostat.c and rd_stats.c of sysstat.
package watch

import (
	"strings"
)

// list joins words with commas and "and".
func list(words []string) string {
	switch n := len(words); n {
	case 0:
		return ""
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}

// A Flow is the bytes and I/Os of one direction in an interval, in all and per second.
type Flow struct {
	Bytes  int64   `json:"bytes"`
	IOs    int64   `json:"ios"`
	BytesS float64 `json:"bytes_per_s"`
	IOsS   float64 `json:"ios_per_s"`
}

// flow is a Flow of so many seconds.
func flow(bytes, ios int64, seconds float64) Flow {
	return Flow{bytes, ios, float64(bytes) / seconds, float64(ios) / seconds}
}
