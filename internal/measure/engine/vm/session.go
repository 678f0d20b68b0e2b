package vm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"plimsoll/internal/host/procfs"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/wire"
	"plimsoll/internal/text/lastbytes"
)

// session is a worker in a virtual machine.
type session struct {
	*engine.Process
	vm    *Engine
	base  *bootFiles
	accel string
	// id names the journal's entry, dir is the session's own folder, data are its folders in the user's, by place, empty
	// where there is none; own lists all of them.
	id, dir   string
	data, own []string
	// setup is the guest's setup; places are its devices: of the data, and of the sources.
	setup   wire.Setup
	places  []*placeDevice
	out     *bufio.Reader
	monitor *monitor
	// console holds the end of the console's output, of the guest's kernel and worker; consoleEnd is closed when it is
	// complete.
	console    *lastbytes.Buffer
	consoleEnd chan struct{}
	// orphan is the share's daemon, if it ended before the machine.
	orphan *atomic.Pointer[engine.Process]
	// limits are those that apply around the machine; nil: none do.
	limits *engine.IOLimits
	info   engine.Info
}

// Info implements Session.
func (s *session) Info() engine.Info { return s.info }

// noteProcesses notes the processes started so far, beside the folders.
func (s *session) noteProcesses(ctx context.Context) error {
	made := engine.SessionRecord{Paths: s.own}
	for _, p := range append(s.daemons(), s.Process) {
		if p != nil {
			made.Processes = append(made.Processes, procfs.Of("/proc", p.Cmd.Process.Pid))
		}
	}
	return s.vm.journal.Note(ctx, s.id, made)
}

// daemons are the daemons of the machine's shares.
func (s *session) daemons() (list []*engine.Process) {
	for _, p := range s.places {
		if p.daemon != nil {
			list = append(list, p.daemon)
		}
	}
	return list
}

// Stdout implements Session: what follows the machine's first line.
func (s *session) Stdout() io.Reader { return s.out }

// Log implements Session: the output of QEMU and the shares' daemons, then the console, and last what the guest can't know.
func (s *session) Log() string {
	said := s.Process.Log() + "\n"
	for _, d := range s.daemons() {
		said += d.Log() + "\n"
	}
	said = strings.TrimSpace(said + s.console.String())
	for _, p := range s.places {
		// The guest sees only an error of its disk.
		if p.disk && isFull(p.dir) {
			said += "\nthe file system of the machine's disk, " + p.hostPath + ", is full"
		}
	}
	return strings.TrimSpace(said)
}

// diskBreath is the least free space in bytes with which a machine's disk can grow.
const diskBreath = 1 << 20

// panicWords begin a kernel's message when it panics.
const panicWords = "Kernel panic - not syncing: "

// State implements Session. The guest's exit status comes as QEMU's.
func (s *session) State(ctx context.Context) string {
	select {
	case <-s.Waited:
	case <-ctx.Done():
		return "the machine closed its output, but still runs"
	}
	// The console's last output may be on its way.
	select {
	case <-s.consoleEnd:
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
	if d := s.orphan.Load(); d != nil {
		return "the share's daemon ended: " + engine.ExitWords(d.WaitErr) + colon(lastbytes.LastWords(d.Log()))
	}
	console := s.console.String()
	if _, why, ok := strings.Cut(console, panicWords); ok {
		why, _, _ = strings.Cut(why, "\n")
		return "the guest's kernel panicked: " + strings.TrimSpace(why)
	}
	var ee *exec.ExitError
	if !errors.As(s.WaitErr, &ee) {
		return "the machine turned itself off" + colon(lastbytes.LastWords(console))
	}
	if code := ee.ExitCode(); code > 2*wire.ExitBase {
		return fmt.Sprintf("the guest ended with status %d", (code-1)/2-wire.ExitBase) + colon(lastbytes.LastWords(console))
	}
	return "qemu: " + engine.ExitWords(s.WaitErr) + colon(lastbytes.LastWords(s.Process.Log()))
}

// colon puts a colon before words, if there are any.
func colon(words string) string {
	if words == "" {
		return ""
	}
	return ": " + words
}

// processGrace is how long the end of a process may take to be noticed, killed or not.
const processGrace = 2 * time.Second

// watchDaemon ends a machine when its share's daemon is gone: the guest would wait for it for ever.
func watchDaemon(d, machine *engine.Process, orphan *atomic.Pointer[engine.Process]) {
	<-d.Waited
	// If the machine ended first, the daemon lost its connection, even if the machine's end isn't known yet.
	grace := time.Duration(0)
	if _, err := procfs.Running("/proc", machine.Cmd.Process.Pid); errors.Is(err, fs.ErrNotExist) {
		grace = processGrace
	}
	select {
	case <-machine.Waited:
		return
	default:
	}
	select {
	case <-machine.Waited:
	case <-time.After(grace):
		orphan.Store(d)
		machine.Kill()
	}
}

// Close implements Session. The machine is killed, not turned off: its data is discarded.
func (s *session) Close(ctx context.Context) error {
	if s.Process != nil {
		return s.CloseOnce(func() error { return s.end(ctx) })
	}
	return s.end(ctx)
}

// end ends the processes, then removes what the session made.
func (s *session) end(ctx context.Context) error {
	s.stop(ctx)
	if s.limits != nil {
		if err := engine.RemoveGroups(engine.FolderPrefix + s.id); err != nil {
			return err
		}
	}
	return s.vm.journal.Clear(s.id, s.own...)
}

// stop ends the processes, and closes what leads to them.
func (s *session) stop(ctx context.Context) {
	for _, p := range append([]*engine.Process{s.Process}, s.daemons()...) {
		if p != nil {
			p.Kill()
			p.End(ctx, processGrace)
		}
	}
	s.closeSockets()
	if s.monitor != nil {
		s.monitor.close()
	}
}

// closeSockets closes QEMU's ends of the daemons' connections.
func (s *session) closeSockets() {
	for _, p := range s.places {
		if p.socket != nil {
			p.socket.Close()
		}
	}
}
