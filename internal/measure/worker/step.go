package worker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"

	"plimsoll/internal/measure/step"
	"plimsoll/internal/measure/wire"
)

// stepProcesses are the processes that take the steps of a safety check, by the caller's number.
type stepProcesses struct {
	trial trialCommand
	out   *wire.Writer
	run   map[int]*stepProcess
}

// A stepProcess is one of them.
type stepProcess struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	calls chan int // IDs of the steps that it has not answered yet, in order
	done  chan struct{}
}

// take passes a step on to its process. The answer follows when there is one.
func (s *stepProcesses) take(ctx context.Context, m *wire.Step) {
	p := s.run[m.Process]
	if m.End {
		if p != nil {
			delete(s.run, m.Process)
			p.end()
		}
		s.answer(m.ID, &step.Answer{})
		return
	}
	if p == nil {
		var err error
		if p, err = s.start(ctx); err != nil {
			s.answer(m.ID, &step.Answer{Error: err.Error()})
			return
		}
		if s.run == nil {
			s.run = map[int]*stepProcess{}
		}
		s.run[m.Process] = p
	}
	line, err := json.Marshal(m.Call)
	if err == nil {
		p.calls <- m.ID
		_, err = p.in.Write(append(line, '\n'))
	}
	if err != nil {
		p.end()
		s.refuse(p, errors.New("it reads no steps")) // Perhaps it ended before the step was in calls.
	}
}

// start starts a process.
func (s *stepProcesses) start(ctx context.Context) (*stepProcess, error) {
	cmd := s.trial.command(ctx, "step")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &stepProcess{cmd, in, make(chan int, maxSteps), make(chan struct{})}
	go s.forward(p, out)
	return p, nil
}

// maxSteps is how many steps of one process may wait for their answers.
const maxSteps = 64

// forward passes a process's answers on until it ends. It then answers the steps that are left.
func (s *stepProcesses) forward(p *stepProcess, out io.Reader) {
	defer close(p.done)
	for answers := json.NewDecoder(out); ; {
		var a step.Answer
		if err := answers.Decode(&a); err != nil {
			break
		}
		s.answer(<-p.calls, &a)
	}
	err := p.cmd.Wait()
	if err == nil {
		err = errors.New("it ended")
	}
	s.refuse(p, err)
}

// refuse answers the steps that a process has left.
func (s *stepProcesses) refuse(p *stepProcess, err error) {
	for {
		select {
		case id := <-p.calls:
			s.answer(id, &step.Answer{Error: "the process that takes steps is gone: " + err.Error()})
		default:
			return
		}
	}
}

// answer sends an answer. If nobody reads it, the agent ends soon, too.
func (s *stepProcesses) answer(id int, a *step.Answer) {
	_ = s.out.Send(wire.Message{Stepped: &wire.Stepped{ID: id, Answer: *a}})
}

// end kills a process and waits for its end.
func (p *stepProcess) end() {
	_ = p.cmd.Process.Kill() // It may have ended.
	<-p.done
}

// end ends all processes.
func (s *stepProcesses) end() {
	for _, p := range s.run {
		p.end()
	}
}
