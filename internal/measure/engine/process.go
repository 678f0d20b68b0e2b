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

	"plimsoll/internal/text/tail"
)

// LogSize is how much of standard error a session keeps, in bytes.
const LogSize = 8 << 10

// A Process is an agent that runs as a child of plimsoll, directly or through a
// runtime. It implements what of Session is the same for all: input, output, log and end.
type Process struct {
	// Cmd has been started.
	Cmd *exec.Cmd
	// tied has the kernel kill the child when plimsoll ends, for one that doesn't end with its input.
	tied bool
	// fenced has a tied child be the first process of a PID namespace, which ends with it. The caller is locked to its thread,
	// and keeps it until the child's end.
	fenced bool
	stdin  io.WriteCloser
	stdout io.ReadCloser
	log    *tail.Buffer

	// Waited is closed when the child's end is known; WaitErr is set before.
	Waited  chan struct{}
	WaitErr error

	// mu guards reaped: after that the numbers of the child and its group may be another's.
	mu     sync.Mutex
	reaped bool

	closeOnce sync.Once
	closeErr  error
}

// StartProcess starts argv with pipes; it inherits files from its fourth file on. The child doesn't
// get the terminal's signals: plimsoll decides what an interrupt means for it.
func StartProcess(argv []string, files ...*os.File) (*Process, error) {
	return newProcess(argv, files).startPiped()
}

// StartTied is StartProcess for one that is tied to plimsoll.
func StartTied(argv []string, files ...*os.File) (*Process, error) {
	p := newProcess(argv, files)
	p.tied = true
	return p.startPiped()
}

// StartFenced is StartTied for a child that is the first process of a PID namespace: what it has started ends with it, though it is
// killed. The caller is locked to its thread, of which the child has what is the thread's own, and keeps it until the child's end.
func StartFenced(argv []string, files ...*os.File) (*Process, error) {
	p := newProcess(argv, files)
	p.tied, p.fenced = true, true
	return p.startPiped()
}

// newProcess returns a child that is not started yet.
func newProcess(argv []string, files []*os.File) *Process {
	p := &Process{Cmd: exec.Command(argv[0], argv[1:]...), log: &tail.Buffer{Max: LogSize}, Waited: make(chan struct{})}
	p.Cmd.ExtraFiles = files
	return p
}

// startPiped starts the child with pipes.
func (p *Process) startPiped() (*Process, error) {
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

// StartServer starts argv, tied to plimsoll, on a connection, which is its standard input; what it prints is its log. It
// inherits files as StartProcess has them.
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

// noPipe is in place of a pipe to a child that has none.
type noPipe struct{}

func (noPipe) Read([]byte) (int, error)    { return 0, io.EOF }
func (noPipe) Write(b []byte) (int, error) { return 0, io.ErrClosedPipe }
func (noPipe) Close() error                { return nil }

// start starts the child, and waits for its end from then on.
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

// plainEnviron is env without what steers the Go runtime of the worker or of the runtime that
// starts it: a GOMAXPROCS of the caller's would slow the host's worker down, but none
// in a container.
func plainEnviron(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(GoVariables, name+"=")
	})
}

// wait waits for the child. One that was killed leaves its trial, which would go on
// writing: what is left of its group is killed while the child still holds the group's number.
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

// Kill kills the child and what it has started, if the child's end isn't known already. Where that
// can't be looked at, it kills the child alone, of which package os knows whether it has ended.
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
		return "it closed its output and still runs"
	}
}

// CloseOnce runs what closes the session the first time, and returns what it returned then.
func (p *Process) CloseOnce(end func() error) error {
	p.closeOnce.Do(func() { p.closeErr = end() })
	return p.closeErr
}

// End closes the agent's input, waits for it to end, and kills it with its
// trial when it doesn't within grace or before ctx is over.
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

// ExitWords puts a child's end in words.
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

// GoVariables empty what an image may set of the Go runtime's own environment: with
// GOMAXPROCS=1 the worker would measure itself (https://pkg.go.dev/runtime, "Environment
// Variables").
var GoVariables = []string{"GOMAXPROCS=", "GOGC=", "GOMEMLIMIT=", "GODEBUG=", "GOTRACEBACK=", "GOCOVERDIR="}
