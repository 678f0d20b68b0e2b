package row

import (
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
)

// A Row is the result for one limit in one mode. Rates are in bytes or I/Os per second, as the key says.
//
// The finding is about App or the row's share of Device. The caller adds why a limit is not held and what to do about
// it, because it knows what the files are on.
type Row struct {
	judge.Finding
	Mode Mode `json:"mode"`
	// BS is the size of the application's I/Os in bytes.
	BS int64 `json:"bs"`
	// Members is the number of devices over which the file system spreads its data, if there are several: each is
	// judged by what reached it.
	Members int `json:"members,omitempty"`
	// App is the rate that the application saw. Device is the rate of everything that reached the limited device, from
	// any process. -1: unknown. If the row was long enough to have a steady part, both omit the first second.
	App    float64 `json:"app"`
	Device float64 `json:"device"`
	// Others is how much of Device was not this row's: that of other groups and, if the row is about data that the
	// kernel writes back, what exceeds the data written. -1: unknown.
	Others float64 `json:"others"`
	// Own is how much of the limit the target used itself beside the worker, or 0 if that is not known to matter. Seen
	// is then the sum.
	Own float64 `json:"own"`
	// OtherGroups is what the target's other groups did in the meantime with version 1 of control groups, which limits
	// each of them by itself or not at all. Seen includes it if the sum is above the limit.
	OtherGroups float64 `json:"other_groups"`
	// Together says that Seen is what all groups of the target did, although each by itself may be within the limit.
	Together bool `json:"together"`
	// Changed are the values that the kernel's limit was changed to while the row was measured; 0 stands for none.
	Changed []int64 `json:"changed"`
	// Error says why the row could not be measured.
	Error string `json:"error,omitempty"`
	// Overshoot is how far the first second was above the limit, as a share of the limit; 0 if it was not above.
	Overshoot float64 `json:"overshoot"`
	// Converged is the time after which the rate stayed within a tenth of the limit, -1 if it never did.
	Converged time.Duration `json:"converged"`
	// Elapsed is the length of the measurement.
	Elapsed time.Duration `json:"elapsed"`
	// Fix is what to do about a limit that is not held.
	Fix string `json:"fix,omitempty"`
}

// Words returns the verdict as a sentence with its evidence. It omits why a limit is not held, which has lines of its
// own.
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

// Rate returns a rate in the unit of the row's key.
func (r Row) Rate(v float64) string {
	if v < 0 {
		return "unknown"
	}
	return r.Key.PerSecond(v)
}

// amount returns the part of n that the key limits.
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
