package report

import (
	"encoding/json"
	"slices"
	"time"

	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

// untilStored makes a workload's figures include the time until its writes were on the storage, if the kernel's flusher
// wrote them back in all of its trials and was measured. Limits and interference are judged by that time. The bytes of the
// window alone went to memory: by them, a cell that is limited to 10 MiB/s would be no slower than one without a limit.
func (g *gathered) untilStored() {
	g.stored = map[string]bool{}
	for _, t := range g.trials {
		ok := stored(t)
		if was, seen := g.stored[t.Cell.Workload]; seen {
			ok = ok && was
		}
		g.stored[t.Cell.Workload] = ok
	}
	for i, t := range g.trials {
		if g.stored[t.Cell.Workload] && measured(t) {
			g.trials[i] = countStored(t)
		}
	}
}

// stored reports whether the rate of t, if it was measured, can include the time until its writes were on the storage.
func stored(t *record.Trial) bool {
	if !measured(t) {
		return true
	}
	if metricOf(t).LowerIsBetter() || len(t.Results) == 0 {
		return false
	}
	return !slices.ContainsFunc(t.Results, func(r workload.Result) bool { return r.Flushed == nil || r.Settled <= 0 || r.Elapsed <= 0 })
}

// countStored is a copy of t whose figure and device bytes go on until the writes were on the storage.
func countStored(t *record.Trial) *record.Trial {
	c := *t
	var window, settled time.Duration
	for i := range t.Results {
		window, settled = max(window, t.Results[i].Elapsed), max(settled, t.Results[i].Settled)
	}
	if span, _, ok := workload.Span(t.Results); ok {
		window = span
	}
	c.Value *= float64(window) / float64(window+settled)
	c.Truth = slices.Clone(t.Truth)
	for i := range c.Truth {
		if i < len(t.Results) && c.Truth[i].DeviceWritten >= 0 {
			c.Truth[i].DeviceWritten += t.Results[i].Flushed.Bytes
		}
	}
	// The doubt that the window shows the speed of memory doesn't apply to this figure.
	c.Warnings = slices.DeleteFunc(slices.Clone(t.Warnings), ofWrites)
	return &c
}

// ofWrites reports whether a warning says that writes of the window did not reach the device.
func ofWrites(w record.Warning) bool {
	var e struct{ Direction string }
	return w.Check == check.Cache && json.Unmarshal(w.Evidence, &e) == nil && e.Direction == "written"
}

// storedText is appended to the description of a workload whose figures include the time until the writes were on the
// storage.
const storedText = ", until it was on the storage"
