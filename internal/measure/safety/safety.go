// Package safety finds out in seconds, without load, what a place keeps of what a local file system promises: shared maps,
// locks, syncs that reach the disk, events, edits that are seen at once.
//
// Processes take steps in turn in the place (package step): two in one container, two in different containers, one of them on
// the host. What one does, the other must see. From the answers follows which programs are safe there (uses.go).
package safety

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/step"
)

// An Answer is what is known of a promise, or of a program's safety.
type Answer = record.SafetyAnswer

// Answers.
const (
	Yes     = record.SafeYes
	No      = record.SafeNo
	Unknown = record.SafeUnknown
	Alone   = record.SafeAlone
)

// A Use is a program or a habit, and whether the place is safe for it.
type Use = record.Use

// A Finding is the answer to one question.
type Finding struct {
	// Key names the question, such as "lock-posix" (questions.go).
	Key    string `json:"key"`
	Answer Answer `json:"answer"`
	// Between says which two processes were asked; empty if one process answered.
	Between Between `json:"between,omitempty"`
	// Detail says what was seen.
	Detail string `json:"detail,omitempty"`
}

// Between is a pair of processes.
type Between string

// Pairs.
const (
	Processes  Between = "two processes"
	Containers Between = "two containers"
	Sides      Between = "host and container"
	// Machines is Sides for a virtual machine.
	Machines Between = "host and virtual machine"
)

// Options say what to check.
type Options struct {
	// Engine opens the sessions in Place; Host is the engine host, for the other side of a folder. Host may be Engine.
	Engine, Host engine.Engine
	Place        place.Spec
	// Container has what else the sessions need, such as an image; its Place and ID are not used.
	Container engine.Spec
	// Quick leaves out the questions that take longer than some hundredths of a second.
	Quick bool
}

// A Report is everything that was found.
type Report struct {
	// Place is the user's name for it; Engine what ran there. FSType, Source and Options are from the mount that the processes
	// saw.
	Place    string    `json:"place"`
	Engine   string    `json:"engine"`
	FSType   string    `json:"fs_type"`
	Source   string    `json:"source,omitempty"`
	Options  string    `json:"mount_options,omitempty"`
	Kernel   string    `json:"kernel,omitempty"`
	Findings []Finding `json:"findings"`
	Uses     []Use     `json:"uses"`
	// Took is how long the check took, without opening containers.
	Took time.Duration `json:"took_ns"`
}

// A side is a process in the place. The zero side does not exist.
type side struct {
	agent   *agent.Agent
	process int
}

// sides are the processes of a check, nil agents for those that don't exist. between are the pairs of them.
type pair struct {
	between Between
	a, b    side
}

// stepTimeout bounds each batch of steps. A step of a healthy place takes five seconds at most.
const stepTimeout = 20 * time.Second

// Check checks a place. It makes a folder of its own there, which it removes. The error is a *refusal.Error if the engine
// can't offer the place.
func Check(ctx context.Context, o Options) (r *Report, err error) {
	c := &checker{ctx: ctx, Report: Report{Place: o.Place.Name, Engine: o.Engine.Name()}}
	defer func() { err = errors.Join(err, c.close()) }()
	first, err := c.open(o.Engine, o.session(nil))
	if err != nil {
		return nil, fmt.Errorf("%s can't be checked: %w", o.Place.Name, err)
	}
	c.main = side{first, 0}
	c.pairs = []pair{{Processes, c.main, side{first, 1}}}
	if err := c.others(o, first.Session); err != nil {
		return nil, err
	}
	m := first.Hello.Mount
	c.FSType, c.Source, c.Options, c.Kernel = m.FSType, m.Source, m.Options, first.Hello.Kernel
	c.hostPath, c.guest = first.Info().HostPath, first.Info().Guest
	start := time.Now()
	if err := c.ask(o.Quick); err != nil {
		return nil, err
	}
	c.Took = time.Since(start)
	c.Uses = derive(c.Findings)
	return &c.Report, nil
}

// session describes a session in the place, beside another that has the data if it is set.
func (o Options) session(beside engine.Session) engine.Spec {
	spec := o.Container
	spec.Place, spec.Beside = o.Place, beside
	return spec
}

// others opens the other sides of a place that has some.
func (c *checker) others(o Options, first engine.Session) error {
	info := first.Info()
	beside := place.Spec{Name: o.Place.Name, Kind: place.Dir}
	switch o.Place.Kind {
	case place.Bind, place.Volume:
	default:
		return nil
	}
	if !info.Guest {
		second, err := c.open(o.Engine, o.session(first))
		if err != nil {
			return err
		}
		c.pairs = append(c.pairs, pair{Containers, c.main, side{second, 0}})
	}
	if info.HostPath == "" || !reachable(info.HostPath) {
		return nil // The daemon is on another machine, or another user's.
	}
	host, err := c.open(o.Host, engine.Spec{Place: beside, Beside: first})
	if err != nil {
		return err
	}
	between := Sides
	if info.Guest {
		between = Machines
	}
	c.pairs = append(c.pairs, pair{between, c.main, side{host, 0}})
	return nil
}

// A checker is a check under way.
type checker struct {
	Report
	ctx    context.Context
	agents []*agent.Agent
	main   side
	pairs  []pair
	// hostPath is the host's path of the data, empty if there is none; guest is set if the processes are in a virtual machine.
	hostPath string
	guest    bool
	folders  int
	// edits are those of each pair, looked at by fresh.
	edits map[Between][]edit
}

// open opens a session with a worker that answers.
func (c *checker) open(e engine.Engine, spec engine.Spec) (*agent.Agent, error) {
	spec.ID = "check-" + random()
	s, err := e.Open(c.ctx, spec)
	if err != nil {
		return nil, err
	}
	a, err := agent.Open(c.ctx, s)
	if err != nil {
		return nil, errors.Join(err, s.Close(context.WithoutCancel(c.ctx)))
	}
	c.agents = append(c.agents, a)
	return a, nil
}

// random is a name that no other check has.
func random() string {
	var b [4]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// close closes the sessions, the one with the data last.
func (c *checker) close() error {
	var errs []error
	for i := len(c.agents) - 1; i >= 0; i-- {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), stepTimeout)
		errs = append(errs, c.agents[i].Close(ctx))
		cancel()
	}
	return errors.Join(errs...)
}

// A move is a step of one side.
type move struct {
	side
	step.Call
	end bool
}

// together lets sides take steps at the same time, in the order of moves for each process. The error is for a worker that is
// lost; steps that fail say so in their answers.
func (c *checker) together(moves ...move) ([]step.Answer, error) {
	ctx, cancel := context.WithTimeoutCause(c.ctx, stepTimeout, fmt.Errorf("a step took longer than %v", stepTimeout))
	defer cancel()
	type batch struct {
		at    []int
		steps []agent.Step
	}
	batches := map[*agent.Agent]*batch{}
	for i, m := range moves {
		b := batches[m.agent]
		if b == nil {
			b = &batch{}
			batches[m.agent] = b
		}
		b.at, b.steps = append(b.at, i), append(b.steps, agent.Step{Process: m.process, Call: m.Call, End: m.end})
	}
	answers, ended := make([]step.Answer, len(moves)), make(chan error, len(batches))
	for a, b := range batches {
		go func() {
			got, err := a.Steps(ctx, b.steps...)
			for i := range got {
				answers[b.at[i]] = got[i]
			}
			ended <- err
		}()
	}
	var errs []error
	for range batches {
		errs = append(errs, <-ended)
	}
	return answers, errors.Join(errs...)
}

// do lets one side take a step.
func (c *checker) do(s side, call step.Call) (*step.Answer, error) {
	a, err := c.together(move{side: s, Call: call})
	return &a[0], err
}

// must lets one side take steps that succeed in any place. The error says which did not.
func (c *checker) must(s side, calls ...step.Call) error {
	for _, call := range calls {
		a, err := c.do(s, call)
		if err != nil {
			return err
		}
		if !a.OK() {
			return &failedStep{call, *a}
		}
	}
	return nil
}

// A failedStep is a step that the place refused.
type failedStep struct {
	call   step.Call
	answer step.Answer
}

func (e *failedStep) Error() string { return fmt.Sprintf("%s: %s", e.call.Op, e.answer.Error) }

// folder makes a folder for one question and returns its path.
func (c *checker) folder() (string, error) {
	c.folders++
	path := fmt.Sprintf("q%d", c.folders)
	return path, c.must(c.main, step.Call{Op: step.Mkdir, Path: path})
}

// stack is what is below the place on this machine, nil if that isn't known.
func (c *checker) stack() *device.Stack {
	if c.hostPath == "" {
		return nil
	}
	s, err := device.Host().Of(c.hostPath)
	if err != nil {
		return nil
	}
	return s
}
