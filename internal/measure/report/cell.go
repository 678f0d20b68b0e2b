package report

import (
	"slices"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/stats"
	"plimsoll/internal/measure/workload"
)

// workload makes the table of one workload, without the comparisons. It adds the warnings to notes.
func (g *gathered) workload(name string, notes *notebook) Workload {
	w := Workload{Name: name}
	for row, c := range g.cells[name] {
		w.Cells = append(w.Cells, c.cellOf())
		notes.add(row, c.trials)
		if w.What == "" {
			w.What = describe(c.trials[0].Spec)
			if g.stored[name] {
				w.What += storedText
			}
			w.Metric = c.trials[0].Metric
		}
	}
	if w.Metric.Unit == "" {
		for _, c := range g.cells[name] {
			w.Metric = c.trials[0].Spec.Metric()
		}
	}
	w.IOEngine, w.Why = g.ioEngine(name, w.Cells)
	w.Class = mainClass(w.Cells)
	for row, c := range g.cells[name] {
		if l := w.Cells[row].of(w.Class); l != nil {
			l.addP99Interval(c.trials, g.run.Seed)
		}
	}
	w.Footnotes = notes.footnotes(w.Cells)
	for _, s := range g.run.Skipped {
		if s.Cell.Workload == name {
			w.Skipped = append(w.Skipped, Skip{label(s.Cell), s.Reason, !g.hasPlace(s.Cell)})
		}
	}
	return w
}

// hasPlace reports whether the place of c has a trial in any workload.
func (g *gathered) hasPlace(c record.Cell) bool {
	return slices.ContainsFunc(g.trials, func(t *record.Trial) bool {
		return t.Cell.Engine == c.Engine && placeLabel(t.Cell) == placeLabel(c)
	})
}

// stoodOn is the storage under a trial's data; zero where there was none, as with requests over a network.
func stoodOn(t *record.Trial) record.Where {
	w := t.FirstWhere()
	if t.Spec.Kind == workload.HTTP {
		w.FSType, w.Path, w.Options, w.Source, w.Storage, w.Device = "", "", "", "", "", nil
	}
	return w
}

// cellOf sums up one cell, without comparison and warnings.
func (c *group) cellOf() Cell {
	out := Cell{
		Cell: c.cell, Key: c.key, Label: label(c.cell),
		Median: Unknown, Low: Unknown, High: Unknown, CPUPerOp: Unknown,
		Where: stoodOn(c.trials[0]), IOEngine: usedEngine(c.trials),
	}
	out.Outliers = outliers(c.trials)
	var values []float64
	var cpu time.Duration
	var ops int64
	for _, t := range c.trials {
		if t.Status == record.Failed {
			out.FailedN++
			out.addFailure(t)
			continue
		}
		if measured(t) {
			values = append(values, t.Value)
			out.N++
		}
		for i := range t.Results {
			cpu += t.Results[i].Usage.User + t.Results[i].Usage.System
			ops += t.Results[i].Ops()
		}
		s := seriesOf(t)
		s.outlier = slices.Contains(out.Outliers, t.Block)
		out.series = append(out.series, s)
	}
	out.Median, out.Low, out.High, out.Interval = interval(values)
	if ops > 0 && cpu > 0 {
		out.CPUPerOp = Num(float64(cpu) / float64(ops))
	}
	out.Latency = latencies(c.trials)
	out.Disk, out.Unsafe = diskOf(c.trials), unsafeIn(c.trials)
	out.PerClient = perClient(c.trials)
	out.Open, out.Steady = openLoopOf(c.trials), steadyOf(c.trials)
	return out
}

// addFailure counts what t died of, together with trials that died of the same.
func (c *Cell) addFailure(t *record.Trial) {
	for i := range c.Failures {
		if f := &c.Failures[i]; mask(f.Error) == mask(t.Error) && f.Phase == t.Phase {
			f.Trials++
			return
		}
	}
	c.Failures = append(c.Failures, Failure{Trials: 1, Error: t.Error, Phase: t.Phase, Progress: t.Progress, Log: t.Log})
}

// perClient returns the median of each client's own value, or nil for cells of one client.
func perClient(trials []*record.Trial) []Num {
	var by [][]float64
	for _, t := range trials {
		for i := range t.Results {
			if v := t.Results[i].Value(metricOf(t)); measured(t) && v > 0 {
				for len(by) <= i {
					by = append(by, nil)
				}
				by[i] = append(by[i], v)
			}
		}
	}
	if len(by) < 2 {
		return nil
	}
	out := make([]Num, len(by))
	for i := range by {
		out[i], _, _, _ = interval(by[i])
	}
	return out
}

func metricOf(t *record.Trial) workload.Metric {
	if t.Metric.Unit != "" {
		return t.Metric
	}
	return t.Spec.Metric()
}

// seriesOf is the course of t, of all its clients together.
func seriesOf(t *record.Trial) series {
	c := workload.CourseOf(t.Results, metricOf(t).Unit)
	return series{block: t.Block, value: t.Value, rates: c.Rates, step: c.Step}
}

// confidence is the level of all intervals in a report.
const confidence = 0.95

// interval returns the median of values with its distribution-free interval, or with the range if there are fewer than 6
// values.
func interval(values []float64) (mid, low, high Num, kind string) {
	s := stats.Summarize(values, confidence)
	switch {
	case s.N == 0:
		return Unknown, Unknown, Unknown, ""
	case s.Range:
		kind = "range"
	default:
		kind = "95 % interval"
	}
	return Num(s.Median), Num(s.Low), Num(s.High), kind
}
