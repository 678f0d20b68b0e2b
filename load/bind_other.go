//go:build !linux && !windows

package load

import "fmt"

// allowedCPUs returns none on this system: nothing is bound.
func allowedCPUs() ([]int, error) { return nil, nil }

// bindThread binds the calling thread to the job's processors.
func bindThread(j Job, _ int) (undo func(), err error) {
	if len(j.CPUs) == 0 {
		return nil, nil
	}
	return nil, &OptionError{"cpus_allowed", fmt.Sprint(j.CPUs), "only Linux and Windows bind threads to processors here; leave it out"}
}
