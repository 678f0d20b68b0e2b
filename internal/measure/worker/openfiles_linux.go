package worker

import (
	"syscall"

	"plimsoll/internal/measure/wire"
)

// RaiseOpenFiles raises the limit on open files of this process and its trials to wire.OpenFiles, or as far as it may. In a
// container the engine has set the limit; on the host, root may raise it here. If it stays too low, the job that needs more
// reports it.
func RaiseOpenFiles() {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return
	}
	if r.Max < wire.OpenFiles && syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: wire.OpenFiles, Max: wire.OpenFiles}) == nil {
		return
	}
	// Explicitly, or Go would start the trials with this process's original limit.
	syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: r.Max, Max: r.Max})
}
