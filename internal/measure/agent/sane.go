package agent

import (
	"fmt"
	"time"

	"plimsoll/internal/measure/wire"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// A worker's result isn't checked by another measurement. So an impossible one is refused, not reported: a container's
// program may have been replaced, or have a bug.

// misplaced says why a message may not come while a trial is prepared (running false) or runs; empty if it may. Late
// messages of an earlier trial may come.
func (a *Agent) misplaced(m wire.Message, id string, running bool) string {
	switch {
	case m.Hello != nil:
		return "it said hello again"
	case m.Probed != nil:
		return "it listed I/O engines without a request"
	case m.Find != nil, m.Probe != nil, m.Run != nil, m.Start != nil, m.Finish != nil, m.Ask != nil, m.Stop != nil:
		return "it sent a message that only plimsoll sends"
	case m.Ready != nil && m.Ready.ID == id && running:
		return "it was ready a second time"
	case m.Result != nil && m.Result.ID == id && !running:
		return "it sent a result before the start"
	case m.Halts != nil && m.Halts.ID == id && !running:
		return "it stood still before the start"
	case m.Sample != nil && m.Sample.ID == id && !running:
		return "it sent a sample before the start"
	case m.Settling != nil && m.Settling.ID == id && !running:
		return "it settled before the start"
	case m.Hanging != nil && m.Hanging.ID == id && !running:
		return "its I/Os hung before the start"
	case m.Status != nil && m.Status.ID == id && !running:
		return "it sent a status before the start"
	case m.Status != nil && m.Status.ID == id:
		return badResult(&m.Status.Result)
	case m.Hanging != nil && m.Hanging.ID == id:
		return badResult(&m.Hanging.Result)
	case m.Sample != nil && m.Sample.ID == id:
		return badSample(m.Sample.Sample)
	case m.Round != nil && m.Round.ID == id && !running:
		return "it sent a round before the start"
	case m.Round != nil && m.Round.ID == id:
		return badSample(m.Round.Sample)
	case m.Result != nil && m.Result.ID == id:
		return badResult(&m.Result.Result)
	}
	return ""
}

// distrust ends the session's use.
func (a *Agent) distrust(what string) error {
	a.unfit = true
	return &TrialError{Phase: "worker", Text: "the worker can't be believed: " + what, Log: a.Session.Log(), err: ErrLost}
}

// badSample says what is impossible in a sample.
func badSample(s load.Sample) string {
	if s.At < 0 || s.Ops < 0 || s.Bytes < 0 {
		return fmt.Sprintf("a sample of %d operations and %d bytes at %v", s.Ops, s.Bytes, s.At)
	}
	return ""
}

// badResult says what is impossible in a result.
func badResult(r *workload.Result) string {
	if r.Elapsed <= 0 {
		return fmt.Sprintf("a result that took %v", r.Elapsed)
	}
	if len(r.Classes) == 0 {
		return "a result without operations"
	}
	for _, d := range []time.Duration{r.Prepared, r.MaxLate, r.Drained} {
		if d < 0 {
			return fmt.Sprintf("a time of %v", d)
		}
	}
	for _, n := range []int64{r.Late, r.Missed} {
		if n < 0 {
			return fmt.Sprintf("%d late I/Os", n)
		}
	}
	for _, c := range r.Classes {
		if what := badClass(c); what != "" {
			return what
		}
	}
	for _, s := range r.Samples {
		if what := badSample(s); what != "" {
			return what
		}
	}
	return badRounds(r.Rounds)
}

// badRounds says what is impossible in the rounds of a job.
func badRounds(r *workload.Rounds) string {
	if r == nil {
		return ""
	}
	if !r.Sound() {
		return fmt.Sprintf("a result of rounds %d to %d of %d", r.From, r.To, len(r.Each))
	}
	last := time.Duration(0)
	for _, s := range r.Each {
		if what := badSample(s); what != "" {
			return what
		}
		if s.At <= last || s.Lat < 0 {
			return fmt.Sprintf("a round that ends at %v after one that ended at %v", s.At, last)
		}
		last = s.At
	}
	return ""
}

// badClass says what is impossible in a class of operations.
func badClass(c load.Class) string {
	switch {
	case c.Failed < 0:
		return fmt.Sprintf("%d operations that failed", c.Failed)
	case c.Ops < 0 || c.Bytes < 0:
		return fmt.Sprintf("%d operations of %d bytes", c.Ops, c.Bytes)
	case c.Lat == nil && c.Ops+c.InFlight > 0:
		return fmt.Sprintf("%d operations without their latencies", c.Ops)
	case c.InFlight < 0 || c.AtLeast < 0 || c.AtLeast > c.InFlight:
		return fmt.Sprintf("%d operations in flight at the end, of which %d never ended", c.InFlight, c.AtLeast)
	case c.Lat != nil && c.Lat.Count() != uint64(c.Ops+c.InFlight):
		return fmt.Sprintf("%d operations with the latencies of %d", c.Ops+c.InFlight, c.Lat.Count())
	case len(c.Priorities) > 0:
		return badPriorities(c)
	}
	return ""
}

// badPriorities says what is impossible in a class whose latencies are also counted by priority.
func badPriorities(c load.Class) string {
	n := uint64(0)
	for _, p := range c.Priorities {
		if p.Lat == nil {
			return "a priority without latencies"
		}
		n += p.Lat.Count()
	}
	if c.Lat == nil || n != c.Lat.Count() {
		return fmt.Sprintf("%d operations with the priorities of %d", c.Ops+c.InFlight, n)
	}
	return ""
}
