package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"plimsoll/internal/text/lastbytes"
)

// LogSize is how many bytes of standard error a session keeps.
const LogSize = 8 << 10

// A Process is an agent that runs as a child of plimsoll, directly or through a runtime. It implements the part of Session
// that is the same for all: input, output, log and end.
type Process struct {
	// Cmd has been started.
	Cmd *exec.Cmd
	// tied makes the kernel kill the child when plimsoll ends, for a child that doesn't end with its input.
	tied bool
	// fenced makes a tied child the first process of a PID namespace, which ends with it. The caller has locked its
	// goroutine to its thread, and keeps it so until the child's end.
	fenced bool
	stdin  io.WriteCloser
	stdout io.ReadCloser
	log    *lastbytes.Buffer

	// Waited is closed when the child has ended; WaitErr is set before.
	Waited  chan struct{}
	WaitErr error

	// mu guards reaped. Once reaped is set, other processes may have the numbers of the child and its group.
	mu     sync.Mutex
	reaped bool

	closeOnce sync.Once
	closeErr  error
}

// StartProcess starts argv with pipes. The child inherits files, numbered from 3 on. It doesn't get the terminal's signals:
// plimsoll decides what an interrupt means for it.
func StartProcess(argv []string, files ...*os.File) (*Process, error) {
	return newProcess(argv, files).startPiped()
}

// StartTied is StartProcess for a child that the kernel kills when plimsoll ends.
func StartTied(argv []string, files ...*os.File) (*Process, error) {
	p := newProcess(argv, files)
	p.tied = true
	return p.startPiped()
}

// StartFenced is StartTied for a child that is the first process of a PID namespace: all processes that it started end with
// it, even if it is killed. The caller has locked its goroutine to its thread, whose properties the child inherits, and
// keeps it so until the child's end.
func StartFenced(argv []string, files ...*os.File) (*Process, error) {
	p := newProcess(argv, files)
	p.tied, p.fenced = true, true
	return p.startPiped()
}

// newProcess returns a child that is not started yet.
func newProcess(argv []string, files []*os.File) *Process {
	p := &Process{Cmd: exec.Command(argv[0], argv[1:]...), log: &lastbytes.Buffer{Max: LogSize}, Waited: make(chan struct{})}
	p.Cmd.ExtraFiles = files
	return p
}

// startPiped starts the child with pipes.
func (p *Process) startPiped() (*Process, error) {
	// Pipes of our own, not exec's: Wait must not close stdout while a result is still to be read from it.
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
	p.Cmd.Stdin, p.Cmd.Stdout, p.Cmd.Stderr = inR, outW, p.log
	p.stdin, p.stdout = inW, outR
	err = p.start()
	inR.Close()
	outW.Close()
	if err != nil {
		inW.Close()
		outR.Close()
		return nil, err
	}
	return p, nil
}

// StartServer starts argv, tied to plimsoll, with a connection as its standard input. Its output is its log. It inherits
// files as with StartProcess.
func StartServer(argv []string, connection *os.File, files ...*os.File) (*Process, error) {
	p := newProcess(argv, files)
	p.tied = true
	p.stdin, p.stdout = noPipe{}, noPipe{}
	p.Cmd.Stdin, p.Cmd.Stdout, p.Cmd.Stderr = connection, p.log, p.log
	if err := p.start(); err != nil {
		return nil, err
	}
	return p, nil
}

// noPipe takes the place of a pipe to a child without one.
type noPipe struct{}

func (noPipe) Read([]byte) (int, error)    { return 0, io.EOF }
func (noPipe) Write(b []byte) (int, error) { return 0, io.ErrClosedPipe }
func (noPipe) Close() error                { return nil }

// start starts the child, and a goroutine that waits for its end.
func (p *Process) start() error {
	p.Cmd.Env = plainEnviron(os.Environ())
	p.Cmd.SysProcAttr = ownGroup()
	// A runtime may leave a grandchild holding standard error.
	p.Cmd.WaitDelay = time.Second
	start := p.Cmd.Start
	if p.tied {
		start = p.startTied
	}
	if err := start(); err != nil {
		return fmt.Errorf("start %s: %w", p.Cmd.Args[0], err)
	}
	go p.wait()
	return nil
}

// plainEnviron is env without the variables of the Go runtime. The worker, or a runtime that starts it, is written in Go:
// the caller's GOMAXPROCS would slow the host's worker down, but none in a container.
func plainEnviron(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(GoVariables, name+"=")
	})
}

// wait waits for the child. A child that was killed leaves its trial behind, which would go on writing. So the rest of its
// process group is killed before the child is reaped, while the group's number is still its own.
func (p *Process) wait() {
	ended := awaitExit(p.Cmd.Process.Pid)
	p.mu.Lock()
	if ended {
		killGroup(p.Cmd.Process)
	}
	p.reaped = true
	p.mu.Unlock()
	p.WaitErr = p.Cmd.Wait()
	close(p.Waited)
}

// Kill kills the child and all that it started, unless it has ended. Where that can't be checked, it kills the child alone,
// for which package os checks it.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		p.Cmd.Process.Kill()
		return
	}
	killGroup(p.Cmd.Process)
}

func (p *Process) Stdin() io.WriteCloser { return p.stdin }
func (p *Process) Stdout() io.Reader     { return p.stdout }
func (p *Process) Log() string           { return p.log.String() }

// State implements Session.
func (p *Process) State(ctx context.Context) string {
	select {
	case <-p.Waited:
		return ExitWords(p.WaitErr)
	case <-ctx.Done():
		return "it closed its output, but still runs"
	}
}

// CloseOnce calls end the first time, and returns the result of that call each time.
func (p *Process) CloseOnce(end func() error) error {
	p.closeOnce.Do(func() { p.closeErr = end() })
	return p.closeErr
}

// End closes the agent's input and waits for it to end. It kills it with its trial if it doesn't end within grace or before
// ctx is over.
func (p *Process) End(ctx context.Context, grace time.Duration) {
	p.stdin.Close()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.Waited:
	case <-timer.C:
		p.Kill()
		<-p.Waited
	case <-ctx.Done():
		p.Kill()
		<-p.Waited
	}
	p.stdout.Close()
}

// ExitWords describes how a child ended.
func ExitWords(err error) string {
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

// GoVariables empty the variables of the Go runtime that an image may set: GOMAXPROCS=1 would limit the worker itself
// (https://pkg.go.dev/runtime, "Environment Variables").
var GoVariables = []string{"GOMAXPROCS=", "GOGC=", "GOMEMLIMIT=", "GODEBUG=", "GOTRACEBACK=", "GOCOVERDIR="}
