package report

import (
	"fmt"
	"slices"
	"strings"
)

// against names the baseline, if there is one for all.
func (r *Report) against() string {
	name := ""
	for _, w := range r.Workloads {
		switch {
		case w.Baseline == "":
		case name == "":
			name = w.Baseline
		case name != w.Baseline:
			return "the workload's baseline"
		}
	}
	return name
}

// againstWhy reports why nothing is compared. It is the first workload's reason; the others usually have the same.
func (r *Report) againstWhy() string {
	for _, w := range r.Workloads {
		if w.BaselineWhy != "" {
			return w.BaselineWhy
		}
	}
	return "no ratios: nothing was measured"
}

// againstText says what a cell is compared with: "host dir under the same limits with as many clients".
func (r *Report) againstText() string {
	s := r.Against
	if r.hasCell(func(c *Cell) bool { return !plainLimits(c.Limits) && c.own != nil && !c.costsLimits() }) {
		s += " under the same limits"
	}
	if r.severalClients() {
		s += " with as many clients"
	}
	return s
}

// limitsCostText says which cells are compared with one without their limits, so that their ratios are what the limits
// cost; empty if none is.
func (r *Report) limitsCostText() string {
	var parts []string
	if r.hasCell(func(c *Cell) bool { return c.costsLimits() && c.isBaselinePlace() }) {
		parts = append(parts, fmt.Sprintf("With limits, %s itself is compared with %[1]s without: its ratios are what the limits cost.", r.Against))
	}
	if lacking := r.lackingLimits(); len(lacking) > 0 {
		parts = append(parts, fmt.Sprintf("Under %s, %s has no figures: the places there are compared with it without limits.", listed(lacking), r.Against))
	}
	return strings.Join(parts, " ")
}

// lackingLimits are the sets of limits under which places were measured, but not the baseline's.
func (r *Report) lackingLimits() (names []string) {
	for _, w := range r.Workloads {
		for i := range w.Cells {
			c := &w.Cells[i]
			if c.costsLimits() && !c.isBaselinePlace() && !slices.Contains(names, c.Limits) {
				names = append(names, c.Limits)
			}
		}
	}
	return names
}

// limitsCostText lists the cells of the table whose ratio is what their limits cost; empty if there are none.
func (w *Workload) limitsCostText() string {
	var cells []string
	for i := range w.Cells {
		if c := &w.Cells[i]; c.costsLimits() {
			cells = append(cells, c.Label)
		}
	}
	if len(cells) == 0 {
		return ""
	}
	return "compared with " + w.Baseline + " without limits: " + strings.Join(cells, "; ")
}

// hasCell reports whether a cell of the report is one of those that is picks.
func (r *Report) hasCell(is func(*Cell) bool) bool {
	for _, w := range r.Workloads {
		for i := range w.Cells {
			if is(&w.Cells[i]) {
				return true
			}
		}
	}
	return false
}
