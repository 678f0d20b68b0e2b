package workload

import (
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// processorTimes is SYSTEM_PROCESSOR_PERFORMANCE_INFORMATION (winternl.h), in 100 ns; kernel time includes idle time.
type processorTimes struct {
	idle, kernel, user, _, _ int64
	_                        uint32
}

// processorPerformance is SystemProcessorPerformanceInformation (winternl.h).
const processorPerformance = 8

// takeSnapshot reads the times of the processors of the process' group.
func takeSnapshot(bool) snapshot {
	s := snapshot{at: time.Now()}
	all := make([]processorTimes, runtime.NumCPU())
	var n uint32
	size := uint32(unsafe.Sizeof(all[0]))
	if windows.NtQuerySystemInformation(processorPerformance, unsafe.Pointer(&all[0]), uint32(len(all))*size, &n) != nil {
		return s
	}
	for i, p := range all[:min(int(n/size), len(all))] {
		s.cpus = append(s.cpus, CPUDelta{
			CPU: i, User: time.Duration(p.user) * 100, System: time.Duration(p.kernel-p.idle) * 100, Idle: time.Duration(p.idle) * 100,
		})
	}
	return s
}

// Monotonic is not known on this system.
func Monotonic() time.Duration { return 0 }
