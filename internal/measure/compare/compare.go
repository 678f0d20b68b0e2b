// Package compare compares two runs of the same plan, before and after a change: an update, another kernel, another disk.
//
// Each run compares its cells with its own baseline, block by block. What differs between the two hours of the runs therefore
// cancels in the ratios, and the change of a ratio is what can be judged. Absolute figures are shown beside it, without a
// verdict: another hour may be the reason of a difference.
package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure/fingerprint"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/report"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/usage"
)

// A Change is how one cell differs between two runs.
type Change struct {
	Workload string `json:"workload"`
	// Label is the cell in words, Key its stable name.
	Label string `json:"label"`
	Key   string `json:"key"`
	// Before and After are the ratios to each run's own baseline.
	Before report.Num `json:"before"`
	After  report.Num `json:"after"`
	// Ratio is After / Before. Low and High bound it, together with all other changes, at 95 %.
	Ratio report.Num `json:"ratio"`
	Low   report.Num `json:"low"`
	High  report.Num `json:"high"`
	// Kind is slower, faster, equivalent or inconclusive; missing if one of the runs has no ratio.
	Kind report.Kind `json:"kind"`
	// Doubt is set if the figure of either run is in doubt.
	Doubt bool `json:"doubt,omitempty"`
	// Absolute is the cell's median after / before, higher being faster. It has no verdict, and is unknown between two machines.
	Absolute report.Num `json:"absolute"`
}

// A Comparison is that of two runs.
type Comparison struct {
	Before Side `json:"before"`
	After  Side `json:"after"`
	// Differences are what differs between the machines and the places of the runs, in words. Changes can have these reasons.
	Differences []string `json:"differences"`
	// Changes are in the order of the workloads, baselines first.
	Changes []Change `json:"changes"`
	// Left lists cells that only one of the runs has.
	Left []string `json:"left,omitempty"`
	// Margin is the zone in which a change counts as none.
	Margin float64 `json:"margin"`
}

// A Side is one of the two runs.
type Side struct {
	ID      string `json:"id"`
	Plan    string `json:"plan"`
	Started string `json:"started"`
	Blocks  int    `json:"blocks"`
	Version string `json:"version"`
}

func sideOf(r *report.Report) Side {
	return Side{r.Run.ID, r.Run.Plan, r.Run.Started.UTC().Format("2 Jan 2006 15:04"), r.Run.Blocks, r.Run.Version}
}

// Runs compares two runs. The error is a *usage.Error if they measured different things.
func Runs(before, after *report.Report) (*Comparison, error) {
	c := &Comparison{Before: sideOf(before), After: sideOf(after), Margin: before.Run.Margin}
	if before.Run.ID == after.Run.ID {
		return nil, usage.Errorf("run %s can't be compared with itself", before.Run.ID)
	}
	if c.Before.Version != c.After.Version {
		c.Differences = append(c.Differences, fmt.Sprintf("plimsoll: %s / %s", c.Before.Version, c.After.Version))
	}
	c.Differences = append(c.Differences, machines(before.Run.Machine, after.Run.Machine)...)
	same := sameMachine(before.Run.Machine, after.Run.Machine)
	wheres := map[string][]string{}
	var places []string
	matched := 0
	for _, w := range after.Workloads {
		was := workloadOf(before, w.Name)
		if was == nil {
			c.Left = append(c.Left, w.Name+" (after)")
			continue
		}
		if why := different(before, after, was, &w); why != "" {
			return nil, usage.Errorf("workload %s is not the same in both runs: %s; run the same plan, such as that of 'plimsoll results show %s --plan'", w.Name, why, before.Run.ID)
		}
		if hidesProgram(before, w.Name) || hidesProgram(after, w.Name) {
			c.Differences = append(c.Differences, "program of "+w.Name+": not known, because files for others have no command lines")
		}
		for i := range w.Cells {
			x := &w.Cells[i]
			old := cellOf(was, x.Key)
			switch {
			case x.Control:
				continue
			case old == nil:
				c.Left = append(c.Left, x.Key+" (after)")
				continue
			}
			matched++
			c.Changes = append(c.Changes, c.change(w.Name, old, x, w.Metric, same))
			for _, d := range fingerprint.SameWhere(old.Where, x.Where) {
				if wheres[d] == nil {
					places = append(places, d)
				}
				if !slices.Contains(wheres[d], x.Label) {
					wheres[d] = append(wheres[d], x.Label)
				}
			}
		}
	}
	for _, w := range before.Workloads {
		now := workloadOf(after, w.Name)
		if now == nil {
			c.Left = append(c.Left, w.Name+" (before)")
			continue
		}
		for i := range w.Cells {
			if x := &w.Cells[i]; !x.Control && cellOf(now, x.Key) == nil {
				c.Left = append(c.Left, x.Key+" (before)")
			}
		}
	}
	if matched == 0 {
		return nil, usage.Errorf("the runs have no cell in common: %s ran plan %s, %s ran plan %s", before.Run.ID, before.Run.Plan, after.Run.ID, after.Run.Plan)
	}
	for _, d := range places {
		c.Differences = append(c.Differences, fmt.Sprintf("%s (%s)", d, strings.Join(wheres[d], ", ")))
	}
	return c, nil
}

// change compares a cell of two runs. Both intervals are simultaneous over all cells of their runs; that of the quotient has
// the root of the sum of the squares of their half widths, as errors of independent runs add up.
func (c *Comparison) change(name string, old, now *report.Cell, m workload.Metric, same bool) Change {
	ch := Change{
		Workload: name, Label: now.Label, Key: now.Key, Doubt: old.Doubt || now.Doubt, Kind: report.Missing,
		Before: report.Unknown, After: report.Unknown, Ratio: report.Unknown, Low: report.Unknown, High: report.Unknown, Absolute: report.Unknown,
	}
	if a, b := m.Rate(float64(old.Median)), m.Rate(float64(now.Median)); same && a > 0 && b > 0 {
		ch.Absolute = report.Num(b / a)
	}
	if now.Kind == report.Base && old.Kind == report.Base {
		ch.Kind, ch.Before, ch.After = report.Base, 1, 1
		return ch
	}
	x, y := old.Compared, now.Compared
	if x == nil || y == nil || !(x.Ratio > 0) || !(y.Ratio > 0) {
		return ch
	}
	// A report in JSON may be of a version that compared limited cells with unlimited ones, and did not say so.
	if limited := now.Limits != "" && now.Limits != "none"; limited && x.Against != y.Against {
		return ch
	}
	ch.Before, ch.After, ch.Ratio, ch.Kind = x.Ratio, y.Ratio, y.Ratio/x.Ratio, report.Inconclusive
	if !(x.Low > 0) || !(y.Low > 0) || !x.High.Known() || !y.High.Known() {
		return ch
	}
	centre := math.Log(float64(ch.Ratio))
	half := math.Hypot(math.Log(float64(x.High/x.Low))/2, math.Log(float64(y.High/y.Low))/2)
	ch.Low, ch.High = report.Num(math.Exp(centre-half)), report.Num(math.Exp(centre+half))
	if x.Tentative || y.Tentative {
		return ch
	}
	switch {
	case float64(ch.Low) >= 1-c.Margin && float64(ch.High) <= 1+c.Margin:
		ch.Kind = report.Equivalent
	case ch.High < 1:
		ch.Kind = report.Slower
	case ch.Low > 1:
		ch.Kind = report.Faster
	}
	return ch
}

func workloadOf(r *report.Report, name string) *report.Workload {
	for i := range r.Workloads {
		if r.Workloads[i].Name == name {
			return &r.Workloads[i]
		}
	}
	return nil
}

func cellOf(w *report.Workload, key string) *report.Cell {
	for i := range w.Cells {
		if w.Cells[i].Key == key && !w.Cells[i].Control {
			return &w.Cells[i]
		}
	}
	return nil
}

// machines lists what differs between the machines of two runs. A run of a file for others has no host name.
func machines(a, b record.Machine) []string {
	if a.Hostname != "" && b.Hostname != "" {
		return fingerprint.Same(a, b)
	}
	word := func(m record.Machine) string { return cmp.Or(m.Hostname, "not named") }
	names := "machine: " + word(a) + " / " + word(b)
	a.Hostname, b.Hostname = "", ""
	return append([]string{names}, fingerprint.Same(a, b)...)
}

// sameMachine reports whether two runs were on one machine, perhaps with another kernel. Without a host name nobody knows.
func sameMachine(a, b record.Machine) bool {
	return a.Hostname != "" && a.Hostname == b.Hostname && a.CPUModel == b.CPUModel && a.CPUs == b.CPUs && a.Arch == b.Arch
}

// different says what differs between a workload of two runs; empty if nothing does. The plans decide, as they were run. Where
// one is not known, or can't be read any more, the workload's description does.
func different(a, b *report.Report, before, after *report.Workload) string {
	x, y := specOf(a, before.Name), specOf(b, after.Name)
	if x == nil || y == nil {
		if before.What != after.What || before.Metric != after.Metric {
			return fmt.Sprintf("it is %q / %q", before.What, after.What)
		}
		return ""
	}
	var keys []string
	for k := range x {
		keys = append(keys, k)
	}
	for k := range y {
		if _, ok := x[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		if v, w := fmt.Sprint(x[k]), fmt.Sprint(y[k]); v != w {
			return fmt.Sprintf("%s is %s / %s", k, value(k, x[k]), value(k, y[k]))
		}
	}
	return ""
}

// value is the value of a key in words. Times are in ns.
func value(key string, v any) string {
	if v == nil {
		return "not set"
	}
	if ns, ok := v.(float64); ok && strings.Contains(key, "time") {
		return time.Duration(ns).String()
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}
