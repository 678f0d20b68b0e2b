package cgroupio

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
)

// ReadCPUSet returns the group that keeps process pid from some of the machine's CPUs, and how many CPUs the process's group has. Of
// the visible groups from the process's own upwards, it is the topmost that has no more CPUs than the process's own. It is nil if no
// group takes any CPU away. The process's own affinity (sched_setaffinity) is not considered.
func ReadCPUSet(f device.FS, pid int) (holder *hierarchy.Group, cpus int, err error) {
	g, err := groupOf(f, strconv.Itoa(pid), hierarchy.CPUSet)
	if err != nil {
		return nil, 0, err
	}
	for ; g != nil; g = g.Parent() {
		n, err := groupCPUs(g)
		switch {
		case err != nil:
			continue // Version 2: the group has the CPUs of its parent.
		case holder == nil || n == cpus:
			holder, cpus = g, n
		default:
			return holder, cpus, nil // The parent has more.
		}
	}
	return nil, cpus, nil // The topmost group has no more either.
}

// groupCPUs counts the CPUs that a group may use.
func groupCPUs(g *hierarchy.Group) (int, error) {
	name := "cpuset.cpus.effective"
	if g.Version == 1 {
		name = "cpuset.effective_cpus"
	}
	b, err := os.ReadFile(filepath.Join(g.Dir, name))
	if err != nil {
		return 0, err
	}
	return countList(strings.TrimSpace(string(b)))
}

// countList counts the members of a list such as "0-3,7" (cpuset(7), "List format").
func countList(list string) (int, error) {
	n := 0
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || from < 0 || to < from {
			return 0, fmt.Errorf("%q is not a list of CPUs", list)
		}
		n += to - from + 1
	}
	return n, nil
}
