package plan

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/size"
)

// Size says what a plan spans: the cells that there are, and not all combinations of names,
// since no engine has every kind of place, and --only and exclude take some out.
func (p *Plan) Size() string {
	cells, controls := 0, 0
	workloads, limits, clients := map[string]bool{}, map[string]bool{}, map[int]bool{}
	type spot struct{ engine, place string }
	spots, on := map[spot]bool{}, map[string]int{}
	for _, c := range p.Cells() {
		if c.Control {
			controls++
			continue
		}
		cells++
		workloads[c.Workload], limits[c.Limits], clients[c.Clients] = true, true, true
		if s := (spot{c.Engine, c.Places()}); !spots[s] {
			spots[s] = true
			on[c.Engine]++
		}
	}
	var engines []string
	for _, e := range p.Engines {
		if n := on[e.Name]; n > 0 {
			engines = append(engines, fmt.Sprintf("%d on %s", n, e.Name))
		}
	}
	s := fmt.Sprintf("%s in %s (%s)", size.Plural(len(workloads), "workload"), size.Plural(len(spots), "place"), strings.Join(engines, ", "))
	if n := len(limits); n > 1 {
		s += fmt.Sprintf(", %d sets of limits", n)
	}
	if n := len(clients); n > 1 {
		s += fmt.Sprintf(", %d numbers of clients", n)
	}
	s += ": " + size.Plural(cells, "cell")
	if controls > 0 {
		s += " and " + size.Plural(controls, record.AAControl)
	}
	return fmt.Sprintf("%s, %s, %s; about %s if all of them can be measured", s, size.Plural(p.Blocks, "block"), size.Plural(p.Trials(), "trial"), size.Duration(p.Estimate().Round(time.Second)))
}

// A Checked is the answer to whether a plan is sound, and how large it is, for programs.
type Checked struct {
	OK bool `json:"ok"`
	// Cells counts controls too; Seconds is the estimate.
	Cells   int      `json:"cells"`
	Trials  int      `json:"trials"`
	Seconds float64  `json:"estimate_seconds"`
	Keys    []string `json:"keys"`
	Faults  []Fault  `json:"faults"`
}

// A Fault is one fault of a plan's file or of a flag that changes it.
type Fault struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Flag    string `json:"flag,omitempty"`
	Message string `json:"message"`
}

// Check is the answer for what Parse returned; p may be nil.
func Check(p *Plan, err error) Checked {
	c := Checked{OK: err == nil, Keys: []string{}, Faults: []Fault{}}
	var faults strict.Errors
	errors.As(err, &faults)
	for _, f := range faults {
		var e *strict.Error
		if errors.As(f, &e) {
			c.Faults = append(c.Faults, Fault(*e))
		}
	}
	if p == nil {
		return c
	}
	for _, cell := range p.Cells() {
		c.Keys = append(c.Keys, p.Key(cell))
	}
	c.Cells, c.Trials, c.Seconds = len(c.Keys), p.Trials(), p.Estimate().Seconds()
	return c
}
