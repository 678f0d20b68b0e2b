package load

import (
	"fmt"
	"math/bits"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	kernel32               = windows.NewLazySystemDLL("kernel32.dll")
	setThreadAffinityMask  = kernel32.NewProc("SetThreadAffinityMask")
	getProcessAffinityMask = kernel32.NewProc("GetProcessAffinityMask")
)

// allowedCPUs returns the processors of the process's own group that it may use. Windows numbers 64 in each group.
func allowedCPUs() ([]int, error) {
	var process, system uintptr
	ok, _, err := getProcessAffinityMask.Call(uintptr(windows.CurrentProcess()), uintptr(unsafe.Pointer(&process)), uintptr(unsafe.Pointer(&system)))
	if ok == 0 {
		return nil, fmt.Errorf("ask Windows which processors may be used: %w", err)
	}
	var cpus []int
	for m := uint64(process); m != 0; m &= m - 1 {
		cpus = append(cpus, bits.TrailingZeros64(m))
	}
	return cpus, nil
}

// bindThread binds the calling thread, which belongs to number n of the job's NumJobs, to the job's processors. undo is
// nil if nothing was bound.
func bindThread(j Job, n int) (undo func(), err error) {
	cpus := j.CPUs
	if len(cpus) == 0 {
		return nil, nil
	}
	if j.SplitCPUs {
		cpus = cpus[(n+j.SplitFrom)%len(cpus):][:1]
	}
	mask := uintptr(0)
	for _, c := range cpus {
		if c >= bits.UintSize {
			return nil, &OptionError{"cpus_allowed", fmt.Sprint(j.CPUs), "Windows has 64 processors in a group, and only the first group is used here"}
		}
		mask |= 1 << c
	}
	before, _, err := setThreadAffinityMask.Call(uintptr(windows.CurrentThread()), mask)
	if before == 0 {
		return nil, &OptionError{"cpus_allowed", fmt.Sprint(j.CPUs), "Windows refuses them: " + err.Error()}
	}
	// The mask was allowed before.
	return func() { _, _, _ = setThreadAffinityMask.Call(uintptr(windows.CurrentThread()), before) }, nil
}
