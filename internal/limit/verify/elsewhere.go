package verify

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
	Path      string
	Processes int
	// Has is its own limit, 0 for none.
	Has int64
	// Rate is what it did on the device while the rows were measured, a second; -1: unknown.
	Rate    float64
	Elapsed time.Duration
}

// Row is the row of a group: the limit doesn't hold the processes in it.
func (g Group) Row(key limit.Key, asked int64) Row {
	r := Row{Key: key, Mode: Elsewhere, Asked: asked, App: -1, Device: g.Rate, Others: -1, Seen: g.Rate, Converged: -1, Elapsed: g.Elapsed, Verdict: judge.NotHeld}
	if g.Rate >= 0 {
		r.Off = g.Rate/float64(asked) - 1
	}
	has := "has no " + string(key)
	if g.Has > 0 {
		has = fmt.Sprintf("has %s of %s", key, r.Rate(float64(g.Has)))
	}
	are := "processes of it are"
	if g.Processes == 1 {
		are = "process of it is"
	}
	r.Why = fmt.Sprintf("%d %s in the group %s, which %s", g.Processes, are, g.Path, has)
	if g.Rate >= 0 {
		r.Why += fmt.Sprintf(" and did %s meanwhile", r.Rate(g.Rate))
	}
	return r
}
