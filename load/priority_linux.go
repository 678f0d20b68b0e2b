package load

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// prioWhoProcess, with 0 as its second argument, means the calling thread (IOPRIO_WHO_PROCESS).
const prioWhoProcess = 1

func setPriority(p Priority) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOPRIO_SET, prioWhoProcess, 0, uintptr(p)); errno != 0 {
		return errno
	}
	return nil
}

// takePriority gives the calling thread the job's priority. It first tries the priorities of single I/Os, which the
// kernel would otherwise refuse one by one. undo restores the thread's earlier priority, because the first thread of
// the process does not end.
func takePriority(j Job) (undo func(), err error) {
	shares := slices.Concat(j.ReadPriorities, j.WritePriorities)
	if j.Priority == 0 && len(shares) == 0 {
		return nil, nil
	}
	had, _, errno := unix.Syscall(unix.SYS_IOPRIO_GET, prioWhoProcess, 0, 0)
	if errno != 0 {
		return nil, fmt.Errorf("the I/O priority of a thread: %w", errno)
	}
	own := j.Priority
	if own == 0 {
		own = Priority(had)
	}
	tried := []Priority{}
	for _, s := range append(shares, PriorityShare{Priority: own}) {
		if slices.Contains(tried, s.Priority) && s.Priority != own {
			continue
		}
		tried = append(tried, s.Priority)
		if err := setPriority(s.Priority); err != nil {
			why := fmt.Sprintf("the kernel refuses it: %v", err)
			if err == unix.EPERM && s.Priority.Class() == RealTime {
				why += "; class 1 (real time) needs CAP_SYS_NICE, which a container has only if it is given"
			}
			_ = setPriority(Priority(had)) // The thread had it before.
			return nil, &OptionError{"prio", fmt.Sprintf("%d/%d", s.Priority.Class(), s.Priority.Level()), why}
		}
	}
	return func() { _ = setPriority(Priority(had)) }, nil
}
