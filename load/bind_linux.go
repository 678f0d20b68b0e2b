package load

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// bindThread binds the calling thread, which belongs to number n of the job's NumJobs, to the job's processors. undo is
// nil if nothing was bound. A thread that ends needs no undo, but the first thread of the process may also run a job
// and never ends.
func bindThread(j Job, n int) (undo func(), err error) {
	cpus := j.CPUs
	if len(cpus) == 0 {
		return nil, nil
	}
	if j.SplitCPUs {
		cpus = cpus[(n+j.SplitFrom)%len(cpus):][:1]
	}
	var before, set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	err = unix.SchedGetaffinity(0, &before)
	if err == nil {
		err = unix.SchedSetaffinity(0, &set)
	}
	if err != nil {
		return nil, &OptionError{"cpus_allowed", fmt.Sprint(j.CPUs), "the kernel refuses them: " + err.Error() + "; /proc/self/status names those that may be used (Cpus_allowed_list)"}
	}
	return func() { _ = unix.SchedSetaffinity(0, &before) }, nil // it was allowed before
}

// allowedCPUs returns the processors that the calling thread may use. The threads of a job are already bound and must
// not call it.
func allowedCPUs() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("the processors that may be used: %w", err)
	}
	var cpus []int
	for c := range maxCPUs {
		if set.IsSet(c) {
			cpus = append(cpus, c)
		}
	}
	return cpus, nil
}
