package agent

import (
	"context"
	"errors"

	"plimsoll/internal/measure/step"
	"plimsoll/internal/measure/wire"
)

// A Step is a step for one of the worker's processes, which is started with its first step.
type Step struct {
	// Process is the caller's number for the process. End ends it instead of taking the step.
	Process int
	step.Call
	End bool
}

// Steps sends steps to the worker and returns the answers, in the order of the steps. Those of different processes run at the
// same time. No trial may be open. The error is for a worker that is lost or says nothing until ctx ends, which is not fit for
// more; a step that fails says so in its answer.
func (a *Agent) Steps(ctx context.Context, steps ...Step) ([]step.Answer, error) {
	answers := make([]step.Answer, len(steps))
	first := a.steps
	for i, s := range steps {
		m := wire.Message{Step: &wire.Step{ID: first + i, Process: s.Process, Call: s.Call, End: s.End}}
		if err := a.out.Send(m); err != nil {
			return nil, a.lost()
		}
	}
	a.steps += len(steps)
	for range steps {
		m, err := a.next(ctx)
		switch {
		case errors.Is(err, ErrLost):
			return nil, err
		case err != nil:
			a.unfit = true // The answers may still come, in the middle of something else.
			return nil, err
		case m.Stepped == nil || m.Stepped.ID < first || m.Stepped.ID >= a.steps:
			return nil, a.distrust("it did not answer a step")
		}
		answers[m.Stepped.ID-first] = m.Stepped.Answer
	}
	return answers, nil
}
