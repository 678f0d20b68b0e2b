package load

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// bindThread binds the calling thread, number n of the job, to the job's processors.
func bindThread(j Job, n int) error {
	if len(j.CPUs) == 0 {
		return nil
	}
	cpus := j.CPUs
	if j.SplitCPUs {
		cpus = cpus[n%len(cpus):][:1]
	}
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return &OptionError{"cpus_allowed", fmt.Sprint(j.CPUs), "the kernel refuses them: " + err.Error() + "; /proc/self/status names those that may be used (Cpus_allowed_list)"}
	}
	return nil
}
