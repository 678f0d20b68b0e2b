package selfcheck

import (
	"os/exec"
	"syscall"
)

// tie has the kernel kill a program when this process ends in any way: prctl(2), PR_SET_PDEATHSIG. A program that goes on
// would make its file again after a sweep has removed it. The signal comes when the thread that starts the program ends, so
// the caller keeps that thread.
func tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
