package worker

import (
	"syscall"

	"plimsoll/internal/measure/wire"
)

// RaiseOpenFiles lets this process and the trials that it starts have wire.OpenFiles files open, or
// as many as it may have at most. In a container the engine has set that; on the host, root may
// raise it here. What is refused is told by the job that needs it.
func RaiseOpenFiles() {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return
	}
	if r.Max < wire.OpenFiles && syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: wire.OpenFiles, Max: wire.OpenFiles}) == nil {
		return
	}
	// Explicitly, or Go would start the trials with what this process began with.
	syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: r.Max, Max: r.Max})
}
