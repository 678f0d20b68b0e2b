package dockertest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// A program is a child process. It is ended by its process id.
type program struct {
	cmd     *exec.Cmd
	logPath string
	// ended is closed when the process is gone.
	ended chan struct{}
}

// startProgram starts a child with its output in a file. The kernel sends the child SIGTERM when the test's process ends.
func startProgram(logPath string, env []string, argv ...string) (*program, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	p := &program{cmd: exec.Command(argv[0], argv[1:]...), logPath: logPath, ended: make(chan struct{})}
	p.cmd.Env = env
	// Podman's conmon records a kill for lack of memory in a file "oom" in its working folder, which would be the folder of
	// the tested package.
	p.cmd.Dir = filepath.Dir(logPath)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	// It has a process group of its own, so that an interrupt at the terminal reaches the test only.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	started := make(chan error)
	go func() {
		// The kernel sends the signal when this thread ends, so the thread must last as long as the child.
		runtime.LockOSThread()
		err := p.cmd.Start()
		log.Close()
		started <- err
		if err == nil {
			p.cmd.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	return p, nil
}

// startService starts a program that listens on a socket, and waits until it does.
func startService(socket, logPath string, env []string, argv ...string) (*program, error) {
	p, err := startProgram(logPath, env, argv...)
	if err != nil {
		return nil, err
	}
	if err := p.waitSocket(socket, startLimit); err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

func (p *program) pid() int { return p.cmd.Process.Pid }

func (p *program) log() string {
	b, _ := os.ReadFile(p.logPath)
	return string(b)
}

func (p *program) kill() {
	p.cmd.Process.Kill()
	<-p.ended
}

// stop asks the process to end, and kills it after the grace period.
func (p *program) stop(grace time.Duration) {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(grace):
		p.kill()
	}
}

// waitSocket waits until a socket has a listener.
func (p *program) waitSocket(path string, limit time.Duration) error {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("unix", path); err == nil {
			c.Close()
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended: %s", p.cmd.Path, lastLines(p.log(), 5))
		default:
		}
	}
	return fmt.Errorf("%s does not listen on %s after %v: %s", p.cmd.Path, path, limit, lastLines(p.log(), 5))
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
