package report

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/limitverdict"
	"plimsoll/internal/measure/record"
)

// A LimitRow is one limit of one cell: what was asked for and what was seen, over all trials.
type LimitRow struct {
	Workload string    `json:"workload"`
	Cell     int       `json:"cell"`
	Label    string    `json:"label"`
	Key      limit.Key `json:"key"`
	// Asked and Seen are bytes or I/Os a second, or CPUs. Seen is the median of the trials; Low and High are the least and
	// the greatest. At the device, Asked is the sum over the clients.
	Asked Num `json:"asked"`
	Seen  Num `json:"seen"`
	Low   Num `json:"low"`
	High  Num `json:"high"`
	// At is where it was seen: "application" or "device".
	At string `json:"at"`
	// Error is Seen over Asked, minus 1.
	Error   Num           `json:"error"`
	Verdict judge.Verdict `json:"verdict"`
	// Cause and Why are the reason of one of the trials why the limit is unproved: a word such as "too short", and a
	// sentence. If a limit is held only with the file system's own writes, Why says how much that is.
	Cause judge.Cause `json:"cause,omitempty"`
	Why   string      `json:"why,omitempty"`
	// Trials is how many trials count; in NotHeld of them the limit was exceeded.
	Trials  int `json:"trials"`
	NotHeld int `json:"not_held"`
	// Applied lists the limits that the kernel had: "write_bps=10MiB on loop0 (7:0) in /plimsoll-1".
	Applied []string `json:"applied,omitempty"`
	// Implied is the limit converted to the other unit at the workload's block sizes.
	Implied string `json:"implied,omitempty"`

	// engine and place are the cell's. place includes limits and clients unless they are the plain ones.
	engine, place string
}

// limits compares the limits of cells with their figures.
func (g *gathered) limits(r *Report) {
	for i := range r.Workloads {
		w := &r.Workloads[i]
		for j, c := range g.cells[w.Name] {
			if !c.cell.Control {
				r.Limits = append(r.Limits, limitsOf(w, &w.Cells[j], c)...)
			}
		}
	}
}

// limitsOf returns the rows of one cell.
func limitsOf(w *Workload, cell *Cell, c *group) (rows []LimitRow) {
	seen := map[limit.Key][]judge.Finding{}
	for _, t := range c.trials {
		for _, p := range limitverdict.Of(t) {
			seen[p.Key] = append(seen[p.Key], p)
		}
	}
	for _, k := range limit.Keys {
		all := seen[k]
		if len(all) == 0 {
			continue
		}
		row := LimitRow{Workload: w.Name, Cell: cell.Index, Label: cell.Label, engine: cell.Engine, place: placeLabel(c.cell), Key: k, Asked: Num(all[0].Asked), At: string(all[0].At), Trials: len(all)}
		var values []float64
		for _, p := range all {
			values = append(values, p.Seen)
			row.NotHeld += bit(p.Verdict == judge.NotHeld)
		}
		slices.Sort(values)
		row.Seen, _, _, _ = interval(values)
		row.Low, row.High = Num(values[0]), Num(values[len(values)-1])
		row.Error = row.Seen/row.Asked - 1
		over := judge.Over(all)
		row.Verdict, row.Cause, row.Why = over.Verdict, over.Cause, over.Why
		row.Applied, row.Implied = appliedOf(c.trials[0], k), implied(c.trials[0], k)
		rows = append(rows, row)
	}
	return rows
}

// appliedOf lists the limits that were set for a key.
func appliedOf(t *record.Trial, k limit.Key) (words []string) {
	if h := t.FirstWhere().Held; h != nil {
		for _, a := range h.Applied {
			if a.Key == k {
				words = append(words, a.String())
			}
		}
	}
	return words
}

// implied converts a rate at the workload's block sizes.
func implied(t *record.Trial, k limit.Key) string {
	if !k.Rate() {
		return ""
	}
	var l limit.Limits
	*l.Whole(k) = int64(t.FirstWhere().Held.Of(k))
	return strings.Join(limitverdict.Implied(t, l), "; ")
}

// limitsSheet is the table of the limits; nil without any.
func (r *Report) limitsSheet() *sheet {
	if len(r.Limits) == 0 {
		return nil
	}
	s := &sheet{Title: "limits", Legend: "asked: the limit; seen: the median of the trials; held: within 5 % of the limit, and exceeded in no trial", Columns: []sheetColumn{
		{Head: "workload", Left: true, Group: true}, {Head: "engine", Left: true, Group: true}, {Head: "where", Left: true}, {Head: "limit", Left: true},
		{Head: "asked"}, {Head: "seen"}, {Head: "off", Drop: 1}, {Head: "seen at", Left: true, Drop: 2}, {Head: "verdict", Left: true},
	}}
	for i := range r.Limits {
		l := &r.Limits[i]
		off := fmt.Sprintf("%+.1f %%", 100*float64(l.Error))
		if l.Error >= 1 {
			off = digits(float64(l.Error)+1, 3) + " x"
		}
		s.Rows = append(s.Rows, sheetRow{
			Group: l.Workload + ", " + l.engine, Kind: l.kind(),
			Cells: []string{l.Workload, l.engine, l.place, string(l.Key), l.text(l.Asked), l.text(l.Seen), off, l.At, l.verdict()},
		})
		if note := l.Cause.Meaning(); note != "" {
			s.note(note)
		} else if l.Why != "" {
			s.note(fmt.Sprintf("%s, %s, %s: %s.", l.Workload, l.place, l.Key, l.Why))
		}
		if l.At == string(judge.Device) {
			s.note("Buffered I/O: asked and seen are of all clients together, at the device, until the data was on the storage.")
		}
	}
	// After the reasons, which belong to the verdicts.
	for _, l := range r.Limits {
		if l.Implied != "" {
			s.note(l.Implied + ".")
		}
	}
	return s
}

// verdict is the verdict for the table: "held", "NOT held in 2 of 6", "unproved: too short".
func (l *LimitRow) verdict() string {
	switch {
	case l.Cause != "":
		return l.Verdict.String() + ": " + string(l.Cause)
	case l.Verdict == judge.NotHeld && l.NotHeld < l.Trials:
		return fmt.Sprintf("NOT held in %d of %d", l.NotHeld, l.Trials)
	}
	return strings.TrimPrefix(l.Verdict.String(), "limit ")
}

// text is a value with its unit, short enough for a table.
func (l *LimitRow) text(n Num) string {
	if l.Key.IOPS() {
		return digits(float64(n), 3) + " /s"
	}
	return l.Key.PerSecond(float64(n))
}

// kind is the limit's verdict as the kind of a comparison.
func (l *LimitRow) kind() Kind {
	switch l.Verdict {
	case judge.Held:
		return Faster
	case judge.NotHeld:
		return Failed
	}
	return Inconclusive
}
