// Package watch measures what containers and devices do, interval by interval.
//
// A Sampler reads counters of the kernel into a Sample; Between takes two of them and gives an Interval: of every
// subject (a container, a group, a unit, a process's groups) what its application did, what reached devices for it, what
// limits it was asked to stay under and what was seen of each; of every volume what reached its device; and of
// every device the columns of iostat -x. Reading and arithmetic are apart, so that the arithmetic is tested with made
// up counters, and a daemon can call either.
//
// Easily got wrong:
//
//   - A byte that goes through a stack of devices is charged once on each. A subject's total counts it
//     once (see Charge).
//   - No counter is 0: a kernel from 6.10 on counts, with version 1, only on disks that have had a limit. What isn't
//     counted is nil here and never 0.
//   - With version 1 the kernel writes back what was buffered in the root group: no group is charged. An
//     Interval says how much that may be (Usage.Uncharged) and what the root group did (Interval.Nobody).
//   - A process hands its counters to the one that waits for it, so that those of a group's processes are added up before
//     the difference is taken (see appUse).
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

// A Flow is bytes and I/Os of one direction in an interval, and what that is a second.
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
