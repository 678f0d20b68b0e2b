package row

import (
	"fmt"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
)

// Elsewhere is not a way of I/O: its rows are other groups of the target's processes, beside the limited one. Verify
// observes them and does not try them.
const Elsewhere Mode = "elsewhere"

// A Group is a group other than the limited one that has processes of the target and lacks the limit.
type Group struct {
	// Text says which processes are in it, and what limit it has.
	Text string
	// Rate is what it did on the device while the rows were measured, a second; -1: unknown.
	Rate    float64
	Elapsed time.Duration
}

// Row is the row of a group: the limit doesn't hold the processes in it.
func (g Group) Row(key limit.Key, asked int64) Row {
	r := Row{
		Finding: judge.Finding{Key: key, Asked: float64(asked), Seen: g.Rate, Verdict: judge.NotHeld, Why: g.Text},
		Mode:    Elsewhere, App: -1, Device: g.Rate, Others: -1, Converged: -1, Elapsed: g.Elapsed,
	}
	if g.Rate >= 0 {
		r.Off = g.Rate/float64(asked) - 1
		r.Why += fmt.Sprintf(" and did %s meanwhile", r.Rate(g.Rate))
	}
	return r
}
