package check

import (
	"math"
	"strings"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/stats"
	"plimsoll/internal/text/size"
)

const (
	// capNear is how close the median lies to a round cap, and capCV how little the trials vary, if a cap holds them: real
	// disks vary by more than 1 %.
	capNear   = 0.01
	capCV     = 0.005
	capTrials = 3

	// drifted is the change over a run that is worth a note. driftSure is how much of it must be certain: the nearer end of
	// its 95 % interval. One run in twenty has an interval that excludes 0 by chance.
	drifted   = 0.1
	driftSure = 0.05

	// overheadShare is the share of a run outside of measured windows and layout that is worth a note, and overheadFloor
	// the least time.
	overheadShare = 0.5
	overheadFloor = 10 * time.Second
)

// A provisioned is a rate at which a provider caps its volumes.
type provisioned struct {
	value      float64
	unit, what string
}

// caps are round figures of large providers: AWS EBS (gp2 bursts to 3,000 IOPS and
// ends at 16,000 and 250 MiB/s; gp3 has 3,000 IOPS and 125 MiB/s at least, 1,000
// MiB/s at most: docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html) and Azure
// premium disks P10 to P50
// (learn.microsoft.com/azure/virtual-machines/disks-types).
var caps = []provisioned{
	{3000, "1/s", "3,000 IOPS"},
	{16000, "1/s", "16,000 IOPS"},
	{500, "1/s", "500 IOPS"},
	{1100, "1/s", "1,100 IOPS"},
	{2300, "1/s", "2,300 IOPS"},
	{5000, "1/s", "5,000 IOPS"},
	{7500, "1/s", "7,500 IOPS"},
	{125 << 20, "B/s", "125 MiB/s"},
	{250 << 20, "B/s", "250 MiB/s"},
	{1000 << 20, "B/s", "1,000 MiB/s"},
	{100e6, "B/s", "100 MB/s"},
	{125e6, "B/s", "125 MB/s"},
	{150e6, "B/s", "150 MB/s"},
	{200e6, "B/s", "200 MB/s"},
	{250e6, "B/s", "250 MB/s"},
}

// runCaps is the other half of check 9: rates that stay at a round figure. Cells with limits or a rate of their own are
// flat on purpose.
func runCaps(cells []cell) []record.Warning {
	var out []record.Warning
	for _, c := range cells {
		t := c.trials[0]
		asked := t.Spec.Job.OpenLoop() || limited(t)
		if len(c.trials) < capTrials || asked || !isBlock(t) {
			continue
		}
		if t.FirstWhere().Device == nil {
			continue
		}
		values := make([]float64, len(c.trials))
		for i, t := range c.trials {
			values[i] = t.Value
		}
		mean, sd := meanSD(values)
		m := median(values)
		if mean <= 0 || sd/mean > capCV {
			continue
		}
		for _, p := range caps {
			if p.unit == t.Metric.Unit && math.Abs(m-p.value) <= capNear*p.value {
				out = append(out, warning(Cap, record.Note, map[string]any{"cell": c.name(), "median": m, "cv": sd / mean, "cap": p.value},
					"%s: %d trials at %s, all within %s: this looks like the cap of a provisioned volume (%s), not like the storage's own speed.",
					c.name(), len(values), rate(m, p.unit), percent(max(capCV, sd/mean)), p.what)...)
				break
			}
		}
	}
	return out
}

// limited reports whether a cell was run under I/O limits.
func limited(t *record.Trial) bool {
	limits := t.FirstWhere().Limits
	return strings.Contains(limits, "bps") || strings.Contains(limits, "iops")
}

// runDrift reports that the figures of all cells changed together in the course of the run.
func runDrift(cells []cell) []record.Warning {
	var order, row []int
	var value []float64
	var first, last time.Time
	for i, c := range cells {
		for _, t := range c.trials {
			order, row, value = append(order, t.Order), append(row, i), append(value, t.Metric.Rate(t.Value))
			if first.IsZero() || t.Started.Before(first) {
				first = t.Started
			}
			if t.Started.After(last) {
				last = t.Started
			}
		}
	}
	d := stats.Drift(order, row, value)
	if !d.Drifting || math.Abs(d.Change) < drifted || min(math.Abs(d.Low), math.Abs(d.High)) < driftSure {
		return nil
	}
	verb := "rose"
	if d.Change < 0 {
		verb = "fell"
	}
	return warning(Drift, record.Note, map[string]any{"change": d.Change, "low": d.Low, "high": d.High, "trials": d.Trials},
		"All figures %s together, by %s over the run of %s: the machine changed. Trials ran in random order, so this widens the intervals of comparisons, but does not bias them.",
		verb, percent(math.Abs(d.Change)), size.Duration(last.Sub(first)))
}

// runOverhead reports that most of the run was not spent measuring.
func runOverhead(trials []*record.Trial) []record.Warning {
	var wall, overhead, open time.Duration
	for _, t := range trials {
		wall += t.Wall
		overhead += t.Overhead
		open += t.SessionOpen
	}
	if overhead < overheadFloor || float64(overhead) <= overheadShare*float64(wall) {
		return nil
	}
	return warning(Overhead, record.Note, map[string]any{"wall_ns": int64(wall), "overhead_ns": int64(overhead), "session_open_ns": int64(open)},
		"%s of the %s of trials was neither measuring nor layout (starting containers took %s). Longer windows would use the time better.", size.Duration(overhead), size.Duration(wall), size.Duration(open))
}
