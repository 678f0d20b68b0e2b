package command

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// runToEnd runs a command until it and the processes that it started have ended; when ctx is done, they are killed.
// They are a process group of their own, and the program itself is killed if this process ends, for whatever reason.
func runToEnd(ctx context.Context, cmd *exec.Cmd) error {
	// The kernel sends the signal when the thread ends that created the process (prctl(2), PR_SET_PDEATHSIG).
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	// Processes that it left running may hold its output open.
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		case <-done:
		}
	}()
	err := cmd.Wait()
	close(done)
	<-watched
	// Processes that it left behind would go on during the next trial.
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	return err
}

// signalOf names the signal that ended a process, "" for none.
func signalOf(s *os.ProcessState) string {
	if ws, ok := s.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return ""
}

// ownBytes returns what this process, and those that it has waited for, read and wrote by system calls (proc(5), rchar
// and wchar).
func ownBytes() (read, written int64, ok bool) {
	b, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, 0, false
	}
	for line := range strings.Lines(string(b)) {
		_, _ = fmt.Sscanf(line, "rchar: %d", &read)
		_, _ = fmt.Sscanf(line, "wchar: %d", &written)
	}
	return read, written, true
}
