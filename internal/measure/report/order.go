package report

import (
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/record"
)

// engines is the order of engines in tables, by increasing isolation.
var engines = []string{"host", "oci", "docker", "vm", "swarm"}

func engineOrder(name string) int {
	if i := slices.Index(engines, name); i >= 0 {
		return i
	}
	return len(engines)
}

// placeOrder sorts a plan's names of places by the kind that most of them begin with ("bind", "bind-ssd").
func placeOrder(name string) int {
	for i, k := range place.Kinds {
		if strings.HasPrefix(name, string(k)) {
			return i
		}
	}
	return len(place.Kinds)
}

func limitsOrder(name string) int {
	if plainLimits(name) {
		return 0
	}
	return 1
}

// plainLimits reports whether a set of limits is the plan's name for no limits.
func plainLimits(name string) bool { return name == "" || name == "none" }

// limitsName is the name of a set of limits, empty for none.
func limitsName(name string) string {
	if plainLimits(name) {
		return ""
	}
	return name
}

// planOrder is the position of a workload's name in the plan's text, so that tables follow the plan and not the random
// order of the run. Names that aren't in the text go last.
func (g *gathered) planOrder(name string) int {
	for i, line := range strings.Split(g.run.PlanText, "\n") {
		if strings.HasPrefix(strings.Trim(strings.TrimSpace(line), `"'`), name) {
			rest := strings.TrimPrefix(strings.Trim(strings.TrimSpace(line), `"'`), name)
			if strings.HasPrefix(strings.TrimLeft(rest, `"' `), ":") {
				return i
			}
		}
	}
	return 1 << 30
}

// placeLabel names a place, its limits and clients unless they are the plain ones.
func placeLabel(c record.Cell) string {
	s := c.Places()
	if !plainLimits(c.Limits) {
		s += ", " + c.Limits
	}
	if c.Clients > 1 {
		s += ", " + strconv.Itoa(c.Clients) + " clients"
	}
	return s
}

// controlSuffix marks the second copy of a baseline.
const controlSuffix = " (" + record.AAControl + ")"

// label names a cell within its workload.
func label(c record.Cell) string {
	s := c.Engine + " " + placeLabel(c)
	if c.Control {
		s += controlSuffix
	}
	return s
}

// baseOf is the row of the cell that the cell in row copies: for a control its baseline's, for others their own.
func baseOf(cells []Cell, row int) int {
	c := cells[row].Cell
	if !c.Control {
		return row
	}
	c.Control = false
	if i := slices.IndexFunc(cells, func(o Cell) bool { return o.Cell == c }); i >= 0 {
		return i
	}
	return row
}

// countCells counts cells: a control is one with its baseline.
func countCells(cells []Cell) (n int) {
	for row := range cells {
		n += bit(baseOf(cells, row) == row)
	}
	return n
}
