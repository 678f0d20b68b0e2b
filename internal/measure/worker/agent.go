// Package worker is the program inside the container: an agent that describes the place and runs each trial in a fresh
// process of its own.
//
// It reads the messages of package wire on standard input and answers on standard output. On standard error it says why it
// ends, if that is an error. It ends with its input, so that a container never outlives the plimsoll that started it.
package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"plimsoll/internal/host/inroot"
	"plimsoll/internal/measure/command"
	"plimsoll/internal/measure/wire"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/lastbytes"
	"plimsoll/load"
)

// Agent serves requests until in ends. exe is the worker's own program, which it
// runs again for each trial; trials work in folders.
func Agent(ctx context.Context, exe string, folders workload.Folders, in io.Reader, out io.Writer) error {
	remove, err := ownFolders(folders)
	if err != nil {
		return err
	}
	defer remove()
	return answer(ctx, trialCommand{exe: exe, folders: folders}, in, out)
}

// AgentInside is Agent in a folder of a user's container, which is named name in the folder base. Paths can't be trusted
// there: the container may have a file system of its own, and put a link anywhere. So both are open files, and the trials
// inherit the folder. The agent removes it at the end, also if plimsoll is gone.
func AgentInside(ctx context.Context, exe string, folder, base *os.File, name string, in io.Reader, out io.Writer) error {
	defer inroot.Remove(folder, base, name)
	return answer(ctx, trialCommand{exe: exe, folders: workload.Folders{Work: inheritedFolder}, folder: folder}, in, out)
}

// inheritedFolder is the folder that a process has inherited as file 3.
const inheritedFolder = "/proc/self/fd/3"

// A trialCommand is how the worker runs itself for a trial.
type trialCommand struct {
	exe     string
	folders workload.Folders
	// folder, if set, is the work folder, as the trial's file 3.
	folder *os.File
	// group, if set, is the control group whose limits on I/O apply while a trial is measured.
	group *group
}

// command returns a process of the worker's own program for what, "trial" or "step", not yet started.
func (c trialCommand) command(ctx context.Context, what string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.exe, what, "--dir", c.folders.Work, "--source", c.folders.Source)
	if c.folder != nil {
		cmd.ExtraFiles = []*os.File{c.folder}
	}
	return cmd
}

// answer answers requests until in ends.
func answer(ctx context.Context, trial trialCommand, in io.Reader, out io.Writer) error {
	w := wire.NewWriter(out)
	if err := w.Send(wire.Message{Hello: hello(trial.folders)}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var current *trialProcess
	defer func() {
		if current != nil {
			current.stop()
		}
	}()
	steps := stepProcesses{trial: trial, out: w}
	defer steps.end()
	r := wire.NewReader(in)
	for {
		m, line, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case m.Find != nil:
			w.Send(wire.Message{Found: find(m.Find)})
		case m.Probe != nil:
			w.Send(wire.Message{Probed: &wire.Probed{Probes: load.ProbeEngines(trial.folders.Work)}})
		case m.Step != nil:
			steps.take(ctx, m.Step)
		case m.Run != nil:
			if current != nil {
				current.kill()
			}
			current, err = startTrial(ctx, trial, m.Run.ID, line, w)
			if err != nil {
				w.Send(wire.Message{Error: &wire.Error{ID: m.Run.ID, Phase: wire.PhasePrepare, Text: err.Error()}})
				current = nil
			}
		case m.Start != nil && current != nil && current.id == m.Start.ID:
			if err := trial.group.hold(); err != nil {
				current.refuse(err)
				current = nil
				continue
			}
			current.pulse.begin()
			current.send(line)
		case m.Finish != nil && current != nil && current.id == m.Finish.ID, m.Ask != nil && current != nil && current.id == m.Ask.ID:
			current.send(line)
		case m.Start != nil:
			// Without an answer the parent would wait until its timeout.
			w.Send(wire.Message{Error: &wire.Error{ID: m.Start.ID, Phase: wire.PhaseRun, Text: "there is no such trial to start"}})
		case m.Stop != nil && current != nil && current.id == m.Stop.ID:
			current.stop()
			current = nil
		}
	}
}

// ownFolders calls ownFolder for each folder of f. It makes all of them, or none.
func ownFolders(f workload.Folders) (remove func(), err error) {
	var made []func()
	remove = func() {
		for _, r := range made {
			r()
		}
	}
	for _, dir := range []string{f.Work, f.Source} {
		if dir == "" {
			continue
		}
		r, err := ownFolder(dir)
		if err != nil {
			remove()
			return nil, err
		}
		made = append(made, r)
	}
	return remove, nil
}

// ownFolder makes dir unless it exists, and returns a function that removes a folder that it made: a volume may be another
// user's, on another machine, and outlive the container.
func ownFolder(dir string) (remove func(), err error) {
	if _, err := os.Stat(dir); err == nil {
		return func() {}, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	return func() { os.RemoveAll(dir) }, nil
}

// hello describes this place.
func hello(f workload.Folders) *wire.Hello {
	dir := f.Work
	h := &wire.Hello{
		Version: wire.Version,
		PID:     os.Getpid(),
		Dir:     dir,
		OS:      runtime.GOOS,
		Arch:    runtime.GOARCH,
		CPUs:    runtime.GOMAXPROCS(0),
	}
	describePlace(h)
	if f.Source != "" {
		m := mountOf(f.Source)
		h.Source, h.SourceMount = f.Source, &m
	}
	return h
}

// find looks for a command's program.
func find(f *wire.Find) *wire.Found {
	if len(f.Command.Argv) == 0 {
		return &wire.Found{Error: "no program is named"}
	}
	path, err := command.Find(&f.Command)
	if err != nil {
		return &wire.Found{Error: err.Error()}
	}
	return &wire.Found{Path: path}
}

// A trialProcess is one trial in its own process.
type trialProcess struct {
	id    string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	done  chan struct{}
	once  sync.Once
	group *group
	// own and all are the counts of group.kills at the start.
	own, all int64
	// pulse notices when the process stands still.
	pulse *pulse
	// refused says why it was killed before its start.
	refused atomic.Pointer[string]
}

// startTrial runs the worker again for one trial and forwards its messages.
func startTrial(ctx context.Context, trial trialCommand, id string, request []byte, out *wire.Writer) (*trialProcess, error) {
	cmd := trial.command(ctx, "trial")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	log := &lastbytes.Buffer{Max: 8 << 10}
	cmd.Stderr = log
	// A process that keeps the trial's standard error open must not delay its end.
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the trial's process: %w", err)
	}
	preferAsVictim(cmd.Process.Pid)
	t := &trialProcess{id: id, cmd: cmd, stdin: stdin, done: make(chan struct{}), group: trial.group, pulse: newPulse(cmd.Process.Pid)}
	t.own, t.all = t.group.kills()
	go t.forward(stdout, log, out)
	t.send(request)
	return t, nil
}

// send passes a line on. It ignores a write error: the process is gone then, and forward reports that.
func (t *trialProcess) send(line []byte) { wire.NewWriter(t.stdin).SendLine(line) }

// stopPatience is how long a stopped trial may take to end by itself. It needs some milliseconds unless it waits for a
// disk. It is well below the time that the parent waits for the answer.
const stopPatience = time.Second

// stop asks the trial to stop, by ending its input, and kills it if that takes too long. A trial that ends by itself
// removes unfinished files, and marks its own as Plimsoll's, so that the next trial may write to them again.
func (t *trialProcess) stop() {
	t.stdin.Close()
	timer := time.NewTimer(stopPatience)
	defer timer.Stop()
	select {
	case <-t.done:
	case <-timer.C:
		t.kill()
	}
}

// refuse ends a trial that is ready, with the reason.
func (t *trialProcess) refuse(why error) {
	text := why.Error()
	t.refused.Store(&text)
	t.kill()
}

// kill ends the process and waits until its end was reported.
func (t *trialProcess) kill() {
	t.once.Do(func() { t.cmd.Process.Kill() })
	<-t.done
}

// forward passes the trial's messages to the parent. It holds back the last one, the result or the error, until the process
// has ended, so that nothing of one trial runs during the next. If there is none, it reports how the process ended.
func (t *trialProcess) forward(stdout io.Reader, log *lastbytes.Buffer, out *wire.Writer) {
	defer close(t.done)
	end := wire.Message{Error: &wire.Error{ID: t.id, Phase: wire.PhasePrepare}}
	r := wire.NewReader(stdout)
	r.SealedResults = true
	told, result, err := t.relay(r, end.Error, out)
	halts := t.pulse.end()
	if err != nil {
		// Its messages can't be read any more, so waiting for it would be in vain.
		t.cmd.Process.Kill()
	}
	waitErr := t.cmd.Wait()
	t.group.release()
	switch {
	case result != nil:
		if len(halts) > 0 {
			out.Send(wire.Message{Halts: &wire.Halts{ID: t.id, Halts: halts}})
		}
		out.SendLine(result)
		return
	case told.Error != nil:
		end = told
	case err != nil:
		end.Error.Text = fmt.Sprintf("the trial's process sent an invalid message: %v", err)
	default:
		end.Error.Text, end.Error.Signal = ending(waitErr)
		if why := t.refused.Load(); why != nil {
			end.Error.Text, end.Error.Signal = *why, ""
		}
		if why := t.group.why(t.own, t.all); why != "" && end.Error.Signal != "" {
			end.Error.Text += ": " + why
		}
	}
	if end.Error != nil {
		// The trial doesn't know its own standard error.
		end.Error.Log = log.String()
	}
	out.Send(end)
}

// relay passes messages on until the trial's output ends. It returns the last one: the line of its result, or its error. It
// notes in progress how far the trial got. The error is nil at the end of the output.
func (t *trialProcess) relay(r *wire.Reader, progress *wire.Error, out *wire.Writer) (last wire.Message, result []byte, err error) {
	for {
		m, line, err := r.Next()
		switch {
		case err == io.EOF:
			return last, result, nil
		case err != nil:
			return last, nil, err
		case m.Result != nil:
			result = bytes.Clone(line)
			continue
		case m.Error != nil:
			last, result = m, nil
			continue
		case m.Ready != nil:
			progress.Phase = wire.PhaseRun
		case m.Sample != nil:
			if progress.Done == nil {
				progress.Done = &load.Sample{}
			}
			progress.Done.At = m.Sample.At
			progress.Done.Ops += m.Sample.Ops
			progress.Done.Bytes += m.Sample.Bytes
		case m.Round != nil, m.Settling != nil, m.Hanging != nil, m.Status != nil:
		default:
			return last, nil, fmt.Errorf("not for the parent: %.80q", line)
		}
		out.SendLine(line)
	}
}

// ending describes the end of a process.
func ending(err error) (text, signal string) {
	var ee *exec.ExitError
	if !errors.As(err, &ee) {
		return fmt.Sprintf("the trial's process ended without a result: %v", err), ""
	}
	if ws, ok := ee.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return fmt.Sprintf("the trial's process was killed (%s)", ws.Signal()), ws.Signal().String()
	}
	return fmt.Sprintf("the trial's process ended without a result: %v", ee), ""
}
