package workload

import "time"

// Reasons why a trial's process stood still although no I/O held it up.
const (
	// HaltSignal: a signal stopped it (SIGSTOP).
	HaltSignal = "signal"
	// HaltTracer: a debugger or a tracer was attached, which may stop it at any time.
	HaltTracer = "tracer"
	// HaltFreezer: the freezer held its control group, but not the agent's.
	HaltFreezer = "freezer"
	// HaltAll: the agent stood still, too, without wanting a CPU: the freezer held both, or the machine itself was paused.
	HaltAll = "all"
)

// A Halt is a time in which a trial's process stood still, as its agent saw it, which looks every 10 ms.
type Halt struct {
	Cause string `json:"cause"`
	// From and To are of the machine's monotonic clock (Result.Begun).
	From time.Duration `json:"from"`
	To   time.Duration `json:"to"`
}

// A Halted is how long and how often a process stood still in the measured window, for one cause.
type Halted struct {
	Cause string        `json:"cause"`
	Times int           `json:"times"`
	Time  time.Duration `json:"time"`
}

// Halt adds to r the parts of halts that lie in its window. It adds none if Begun, and so the window, is unknown.
func (r *Result) Halt(halts []Halt) {
	if r.Begun <= 0 {
		return
	}
	for _, h := range halts {
		d := min(h.To, r.Begun+r.Elapsed) - max(h.From, r.Begun)
		if d <= 0 {
			continue
		}
		at := -1
		for i := range r.Halted {
			if r.Halted[i].Cause == h.Cause {
				at = i
			}
		}
		if at < 0 {
			at = len(r.Halted)
			r.Halted = append(r.Halted, Halted{Cause: h.Cause})
		}
		r.Halted[at].Times++
		r.Halted[at].Time += d
	}
}

// SetBegun records the start of the window on the machine's monotonic clock, which agents use.
func (r *Result) SetBegun() {
	if now := Monotonic(); now > 0 && !r.Start.IsZero() {
		r.Begun = now - time.Since(r.Start)
	}
}
