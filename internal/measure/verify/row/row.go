package row

import (
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
)

// A Row is one limit in one mode. Rates are in bytes or I/Os per second, as the key says.
//
// The finding is about App or the row's share of Device. Why a limit is not held, and what would mend it, is the caller's, who knows what the files lie on.
type Row struct {
	judge.Finding
	Mode Mode `json:"mode"`
	// BS is the size of the application's I/Os in bytes.
	BS int64 `json:"bs"`
	// Members is over how many devices the file system spreads its data, where that is more than one: each is judged by what came to it.
	Members int `json:"members,omitempty"`
	// App is the rate that the application saw, Device what reached the device that is limited,
	// whoever sent it; -1: unknown. Both leave the first second out, where the row lasted longer and has a steady part.
	App    float64 `json:"app"`
	Device float64 `json:"device"`
	// Others is how much of Device was not this row's: other groups' and, where the row is of what the kernel writes back, more than was
	// written; -1: unknown.
	Others float64 `json:"others"`
	// Own is how much of the limit the target used itself beside the worker, 0 where that isn't known to matter. Then Seen is the sum.
	Own float64 `json:"own"`
	// OtherGroups is what the target's other groups did meanwhile, on control groups of version 1, where each is held by itself or not at all. Seen
	// is the sum with it where that is above the limit.
	OtherGroups float64 `json:"other_groups"`
	// Together: Seen is what the target did in all of its groups, of which each for itself may be held.
	Together bool `json:"together"`
	// Changed are the values that the kernel's limit was changed to while the row was measured, 0 for none.
	Changed []int64 `json:"changed"`
	// Error reports why the row could not be measured.
	Error string `json:"error,omitempty"`
	// Overshoot is by what share of the limit the first second was above it, 0 if it was not.
	Overshoot float64 `json:"overshoot"`
	// Converged is after which time the rate stayed within a tenth of the limit, -1 if it never did.
	Converged time.Duration `json:"converged"`
	// Elapsed is how long the row was measured.
	Elapsed time.Duration `json:"elapsed"`
	// Fix is what would mend a limit that is not held.
	Fix string `json:"fix,omitempty"`
}

// Words is the verdict as a sentence with its evidence. Why a limit is not held is left out: it has lines of its own.
func (r Row) Words() string {
	f := r.Finding
	switch {
	case r.Verdict == judge.Failed:
		return "failed: " + r.Error
	case r.Mode == Elsewhere:
		f.Seen = -1 // Why has it, and it decides nothing.
	case r.Verdict == judge.NotHeld:
		f.Why = ""
	}
	return f.String()
}

// Rate writes a rate in the unit of the row's key.
func (r Row) Rate(v float64) string {
	if v < 0 {
		return "unknown"
	}
	return r.Key.PerSecond(v)
}

// amount picks what the key limits.
func (r Row) amount(n count) float64 {
	switch r.Key {
	case limit.ReadBPS:
		return float64(n.readBytes)
	case limit.WriteBPS:
		return float64(n.writtenBytes)
	case limit.ReadIOPS:
		return float64(n.reads)
	}
	return float64(n.writes)
}
