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
	"plimsoll/internal/text/tail"
)

// session is a worker in a virtual machine.
type session struct {
	*engine.Process
	vm    *Engine
	base  *bootFiles
	accel string
	// id names the journal's entry, dir is the session's own folder, data are those in the user's, by place, empty where it has none; own
	// lists all of them.
	id, dir   string
	data, own []string
	// setup tells the guest what it is for, places are what it has for that: of the data, and of the sources.
	setup   wire.Setup
	places  []*placeDevice
	out     *bufio.Reader
	monitor *monitor
	// console holds the last of what the guest's kernel and worker said there; consoleEnd is closed when that is all.
	console    *tail.Buffer
	consoleEnd chan struct{}
	// orphan is the share's daemon that ended before the machine did, which process is.
	orphan *atomic.Pointer[engine.Process]
	// limits are those that hold around the machine; nil: none do.
	limits *engine.IOLimits
	info   engine.Info
}

// Info implements Session.
func (s *session) Info() engine.Info { return s.info }

// noteProcesses notes the processes that there are so far, beside the folders.
func (s *session) noteProcesses(ctx context.Context) error {
	made := engine.SessionRecord{Paths: s.own}
	for _, p := range append(s.daemons(), s.Process) {
		if p != nil {
			made.Processes = append(made.Processes, procfs.Of("/proc", p.Cmd.Process.Pid))
		}
	}
	return s.vm.journal.Note(ctx, s.id, made)
}

// daemons are those of the machine's shares.
func (s *session) daemons() (list []*engine.Process) {
	for _, p := range s.places {
		if p.daemon != nil {
			list = append(list, p.daemon)
		}
	}
	return list
}

// Stdout implements Session: what comes behind the machine's first line.
func (s *session) Stdout() io.Reader { return s.out }

// Log implements Session: what QEMU and the shares' daemons said, then the console, and last what no one in the machine can know.
func (s *session) Log() string {
	said := s.Process.Log() + "\n"
	for _, d := range s.daemons() {
		said += d.Log() + "\n"
	}
	said = strings.TrimSpace(said + s.console.String())
	for _, p := range s.places {
		// The guest only knows of an error of its disk.
		if p.disk && isFull(p.dir) {
			said += "\nthe file system on which the machine's disk is, " + p.hostPath + ", is full"
		}
	}
	return strings.TrimSpace(said)
}

// diskBreath is so little room, in bytes, that a machine's disk can't grow.
const diskBreath = 1 << 20

// lastWords are the last that was said, with a colon before it; empty if nothing was.
func (s *session) lastWords() string {
	if words := tail.LastWords(s.Log()); words != "" {
		return ": " + words
	}
	return ""
}

// panicWords begin what a kernel says when it gives up.
const panicWords = "Kernel panic - not syncing: "

// State implements Session. The guest's exit status comes as QEMU's.
func (s *session) State(ctx context.Context) string {
	select {
	case <-s.Waited:
	case <-ctx.Done():
		return "the machine closed its output and still runs"
	}
	// The console's last words may be on their way.
	select {
	case <-s.consoleEnd:
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
	if d := s.orphan.Load(); d != nil {
		return "the share's daemon ended: " + engine.ExitWords(d.WaitErr) + colon(tail.LastWords(d.Log()))
	}
	console := s.console.String()
	if _, why, ok := strings.Cut(console, panicWords); ok {
		why, _, _ = strings.Cut(why, "\n")
		return "the guest's kernel panicked: " + strings.TrimSpace(why)
	}
	var ee *exec.ExitError
	if !errors.As(s.WaitErr, &ee) {
		return "the machine turned itself off" + colon(tail.LastWords(console))
	}
	if code := ee.ExitCode(); code > 2*wire.ExitBase {
		return fmt.Sprintf("the guest ended with status %d", (code-1)/2-wire.ExitBase) + colon(tail.LastWords(console))
	}
	return "qemu: " + engine.ExitWords(s.WaitErr) + colon(tail.LastWords(s.Process.Log()))
}

// colon sets words off, if there are any.
func colon(words string) string {
	if words == "" {
		return ""
	}
	return ": " + words
}

// processGrace is how long the end of a process may take to be known, of one that is killed and of one that ended by itself.
const processGrace = 2 * time.Second

// watchDaemon ends a machine when its share's daemon is gone: the guest would wait for it for ever.
func watchDaemon(d, machine *engine.Process, orphan *atomic.Pointer[engine.Process]) {
	<-d.Waited
	// A machine that ended first took the daemon's connection along, though nobody may have been told of its end yet.
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

// Close implements Session. The machine is not turned off but killed: what it has is thrown away.
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
