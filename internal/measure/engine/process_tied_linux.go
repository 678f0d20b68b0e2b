package engine

import (
	"runtime"
	"syscall"
)

// startTied starts the child, which the kernel kills when plimsoll ends in any way: prctl(2), PR_SET_PDEATHSIG. The signal
// is sent when the thread that started the child ends. So that thread is kept until the child has ended.
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
