package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"plimsoll/internal/tail"
)

// logSize is how much of standard error a session keeps, in bytes.
const logSize = 8 << 10

// A process is an agent that runs as a child of plimsoll, directly or through a
// runtime. It implements most of Session.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	log    *tail.Buffer
	info   Info

	// waited is closed when the child's end is known; waitErr is set before.
	waited  chan struct{}
	waitErr error

	closeOnce sync.Once
	closeErr  error
}

// startProcess starts argv with pipes. The child doesn't get the terminal's
// signals: plimsoll decides what an interrupt means for it.
func startProcess(argv []string) (*process, error) {
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), log: &tail.Buffer{Max: logSize}, waited: make(chan struct{})}
	// Pipes of our own, not exec's: Wait must not close stdout under a reader
	// that still has a result to read.
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		inR.Close()
		inW.Close()
		return nil, err
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = inR, outW, p.log
	p.stdin, p.stdout = inW, outR
	p.cmd.SysProcAttr = ownGroup()
	// A runtime may leave a grandchild holding standard error.
	p.cmd.WaitDelay = time.Second
	err = p.cmd.Start()
	inR.Close()
	outW.Close()
	if err != nil {
		inW.Close()
		outR.Close()
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	go func() {
		p.waitErr = p.cmd.Wait()
		close(p.waited)
	}()
	return p, nil
}

func (p *process) Stdin() io.WriteCloser { return p.stdin }
func (p *process) Stdout() io.Reader     { return p.stdout }
func (p *process) Info() Info            { return p.info }
func (p *process) Log() string           { return p.log.String() }

// State implements Session.
func (p *process) State(ctx context.Context) string {
	select {
	case <-p.waited:
		return exitWords(p.waitErr)
	case <-ctx.Done():
		return "it closed its output and still runs"
	}
}

// end closes the agent's input, waits for it to end, and kills it with its
// trial when it doesn't within grace or before ctx is over.
func (p *process) end(ctx context.Context, grace time.Duration) {
	p.stdin.Close()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.waited:
	case <-timer.C:
		killGroup(p.cmd.Process)
		<-p.waited
	case <-ctx.Done():
		killGroup(p.cmd.Process)
		<-p.waited
	}
	// An agent that was killed leaves its trial, which would go on writing.
	killGroup(p.cmd.Process)
	p.stdout.Close()
}

// exitWords puts a child's end in words.
func exitWords(err error) string {
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return "exit status 0"
	}
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		if ws, ok := ee.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return "killed by signal " + ws.Signal().String()
		}
		// A runtime and a shell report a signal as 128 + its number.
		if ee.ExitCode() == 128+int(syscall.SIGKILL) {
			return "killed by signal killed (exit status 137)"
		}
		return fmt.Sprintf("exit status %d", ee.ExitCode())
	}
	return err.Error()
}
