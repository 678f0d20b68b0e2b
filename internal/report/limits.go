package report

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/limit"
	"plimsoll/internal/proof"
	"plimsoll/internal/record"
)

// A LimitRow is one limit of one cell: what was asked for and what was seen, over all trials.
type LimitRow struct {
	Workload string    `json:"workload"`
	Cell     int       `json:"cell"`
	Label    string    `json:"label"`
	Key      limit.Key `json:"key"`
	// Asked and Seen are bytes or I/Os a second, or CPUs; Seen is the median of the trials, Low and High the least and the
	// most. At the device Asked is the sum over the clients.
	Asked Num `json:"asked"`
	Seen  Num `json:"seen"`
	Low   Num `json:"low"`
	High  Num `json:"high"`
	// At says where it was seen: "application" or "device".
	At string `json:"at"`
	// Error is Seen over Asked, less 1.
	Error   Num           `json:"error"`
	Verdict proof.Verdict `json:"verdict"`
	// Trials count, NotHeld of them showed more than the limit.
	Trials  int `json:"trials"`
	NotHeld int `json:"not_held"`
	// Applied says what the kernel had: "write_bps=10MiB on loop0 (7:0) in /plimsoll-1".
	Applied []string `json:"applied,omitempty"`
	// Implied says what the limit means in the other unit at the workload's block size.
	Implied string `json:"implied,omitempty"`

	// engine and place are the cell's, with limits and clients where they are not the plain ones.
	engine, place string
}

// limits compares what cells were limited to with what they did.
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

// limitsOf are the rows of one cell.
func limitsOf(w *Workload, cell *Cell, c *group) (rows []LimitRow) {
	seen := map[limit.Key][]proof.Row{}
	for _, t := range c.trials {
		for _, p := range proof.Of(t) {
			seen[p.Key] = append(seen[p.Key], p)
		}
	}
	for _, k := range limit.Keys {
		all := seen[k]
		if len(all) == 0 {
			continue
		}
		row := LimitRow{Workload: w.Name, Cell: cell.Index, Label: cell.Label, engine: cell.Engine, place: placeLabel(c.cell), Key: k, Asked: Num(all[0].Asked), At: all[0].At, Trials: len(all)}
		var values []float64
		for _, p := range all {
			values = append(values, p.Seen)
			row.NotHeld += bit(p.Verdict == proof.NotHeld)
		}
		slices.Sort(values)
		row.Seen, _, _, _ = interval(values)
		row.Low, row.High = Num(values[0]), Num(values[len(values)-1])
		row.Error = row.Seen/row.Asked - 1
		row.Verdict = verdictOver(all, row.NotHeld)
		row.Applied, row.Implied = appliedOf(c.trials[0], k), implied(c.trials[0], k)
		rows = append(rows, row)
	}
	return rows
}

// verdictOver is that of most trials; one that shows more in half of them is not held.
func verdictOver(all []proof.Row, notHeld int) proof.Verdict {
	held := 0
	for _, p := range all {
		held += bit(p.Verdict == proof.Held)
	}
	switch {
	case 2*notHeld >= len(all):
		return proof.NotHeld
	case 2*held > len(all):
		return proof.Held
	}
	return proof.Unproved
}

// appliedOf is what was set for a key.
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

// implied is what a rate means at the workload's block size.
func implied(t *record.Trial, k limit.Key) string {
	if !k.Rate() {
		return ""
	}
	var l limit.Limits
	*l.Whole(k) = int64(t.FirstWhere().Held.Of(k))
	_, mean, _ := t.Spec.Job.BlockSizes()
	for _, x := range l.Implied([]int64{int64(mean)}, 0) {
		// With the value: sets of limits differ in it.
		return string(k) + " " + l.Text(k) + strings.TrimPrefix(x.String(), string(k))
	}
	return ""
}

// limitsSheet is the table of the limits; nil without any.
func (r *Report) limitsSheet() *sheet {
	if len(r.Limits) == 0 {
		return nil
	}
	s := &sheet{Title: "limits", Legend: "what was asked for and what was seen, the median of the trials; up to 5 % off is held", Columns: []sheetColumn{
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
			Cells: []string{l.Workload, l.engine, l.place, string(l.Key), l.text(l.Asked), l.text(l.Seen), off, l.At, strings.TrimPrefix(string(l.Verdict), "limit ")},
		})
		if l.Verdict == proof.Unproved {
			s.note("Unproved: something else was slower than the limit.")
		}
		if l.At == proof.Device {
			s.note("Buffered I/O: asked and seen are those of all clients together, at the device, until it was on the storage.")
		} else if l.Implied != "" {
			s.note(l.Implied + ".")
		}
	}
	return s
}

// text is a value with its unit, short enough for a table.
func (l *LimitRow) text(n Num) string {
	if l.Key == limit.ReadIOPS || l.Key == limit.WriteIOPS {
		return digits(float64(n), 3) + " /s"
	}
	return proof.Text(l.Key, float64(n))
}

// kind is the verdict as that of a comparison.
func (l *LimitRow) kind() Kind {
	switch l.Verdict {
	case proof.Held:
		return Faster
	case proof.NotHeld:
		return Failed
	}
	return Inconclusive
}
