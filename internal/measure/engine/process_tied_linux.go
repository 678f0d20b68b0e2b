package engine

import (
	"runtime"
	"syscall"
)

// startTied starts the child, which the kernel kills when plimsoll ends, in whatever way: prctl(2), PR_SET_PDEATHSIG. What ends a child
// then is the end of the thread that started it. So that thread is kept until the child's own.
func (p *Process) startTied() error {
	p.Cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if p.fenced {
		p.Cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID
		return p.Cmd.Start()
	}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.Cmd.Start()
		started <- err
		if err == nil {
			<-p.Waited
		}
	}()
	return <-started
}
