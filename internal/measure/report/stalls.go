package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/stats"
	"plimsoll/internal/text/size"
)

// A wait is a stall from leastStall on, if it is also stallFactor times as long as an operation of the cell and of its baseline
// usually takes.
const (
	leastStall  = 10 * time.Millisecond
	stallFactor = 10
)

// Stalls are the waits that the ratio of a cell does not show: it is about the typical block, and one wait in twenty
// blocks moves it as little as noise does.
type Stalls struct {
	// From is how long a wait must be, in ns, to count: see leastStall.
	From time.Duration `json:"from_ns"`
	// Trials are the trials, of Of, in which an operation waited that long. Longest is the longest wait, in ns.
	Trials  int           `json:"trials"`
	Of      int           `json:"of"`
	Longest time.Duration `json:"longest_ns"`
	// BaseTrials, of BaseOf, are those of the baseline and its A/A controls.
	BaseTrials int `json:"base_trials"`
	BaseOf     int `json:"base_of"`
	// Proven is set if the cell stalls more often than the baseline, by Fisher's exact test, corrected for all comparisons.
	Proven bool `json:"proven,omitempty"`
}

// longestWait is the longest time that an operation of a trial took, also one that ended after the window.
func longestWait(t *record.Trial) time.Duration {
	var longest time.Duration
	for i := range t.Results {
		longest = max(longest, t.Results[i].Drained)
		for _, c := range t.Results[i].Classes {
			if c.Lat.Count() > 0 {
				longest = max(longest, time.Duration(c.Lat.Max()))
			}
		}
	}
	return longest
}

// stalled counts the trials of a cell with a wait of from or more.
func (c *group) stalled(from time.Duration) (trials, of int, longest time.Duration) {
	for _, t := range c.trials {
		if !measured(t) {
			continue
		}
		of++
		if w := longestWait(t); w >= from {
			trials++
			longest = max(longest, w)
		}
	}
	return trials, of, longest
}

// stallsFrom counts the waits of from or more of a cell and of its baselines. p is the probability that the cell has so many by chance.
func stallsFrom(c *group, base []*group, from time.Duration) (s Stalls, p float64) {
	s.From = from.Truncate(time.Millisecond)
	for _, b := range base {
		n, of, _ := b.stalled(s.From)
		s.BaseTrials, s.BaseOf = s.BaseTrials+n, s.BaseOf+of
	}
	s.Trials, s.Of, s.Longest = c.stalled(s.From)
	return s, stats.FisherMore(s.Trials, s.Of, s.BaseTrials, s.BaseOf)
}

// longestOf is the longest wait in all trials of some cells.
func longestOf(cells []*group) (longest time.Duration) {
	for _, c := range cells {
		_, _, l := c.stalled(0)
		longest = max(longest, l)
	}
	return longest
}

// stalls finds the stalls of all cells that are compared. A cell that is proven to stall more than its baseline, and is not slower anyway, says so in its verdict.
func (g *gathered) stalls(r *Report) {
	all, _ := r.Unsettled()
	for i := range r.Workloads {
		w := &r.Workloads[i]
		groups := g.cells[w.Name]
		for j := range w.Cells {
			c := &w.Cells[j]
			if c.own == nil || c.Compared == nil || c.Kind == Control {
				continue
			}
			usual, own := c.own.of(w.Class), c.of(w.Class)
			if usual == nil || own == nil || !usual.P50.Known() || !own.P50.Known() {
				continue
			}
			base := []*group{}
			for k := range w.Cells {
				if o := &w.Cells[k]; o == c.own || o.Kind == Control && o.own == c.own {
					base = append(base, groups[k])
				}
			}
			from := max(leastStall, stallFactor*time.Duration(max(usual.P50, own.P50))).Round(time.Millisecond)
			s, p := stallsFrom(groups[j], base, from)
			// On a machine on which the baseline stalls too, longer waits may tell them apart: those that it never has, and would not have
			// if all of its operations took as long as the cell's.
			beyond := time.Duration(float64(longestOf(base))*max(1, float64(own.P50/usual.P50))) + time.Millisecond
			if longer, p2 := stallsFrom(groups[j], base, max(from, beyond)); longer.Trials > 0 && p2 < p {
				s, p = longer, p2
			}
			if s.Trials == 0 {
				continue
			}
			const tries = 2
			s.Proven = tries*p < (1-confidence)/float64(max(1, all))
			c.Stalls = &s
			if c.stalls() {
				c.Verdict = insert(c.Verdict, ", stalls")
				c.aside += ", stalls"
			}
		}
	}
}

// stalls reports whether the cell is proven to stall more often than the baseline, and its verdict does not say so: a cell that is
// slower waits longer anyway.
func (c *Cell) stalls() bool { return c.Stalls != nil && c.Stalls.Proven && c.Kind != Slower }

// text describes the stalls: "waits of 10 ms or more in 6 of 20 trials, 120 ms at most; host dir in none of 40".
func (s *Stalls) text(base string) string {
	of := fmt.Sprintf("in %d of %d", s.BaseTrials, s.BaseOf)
	if s.BaseTrials == 0 {
		of = fmt.Sprintf("in none of %d", s.BaseOf)
	}
	return fmt.Sprintf("waits of %s or more in %d of %s, %s at most; %s %s", size.Duration(s.From), s.Trials, size.Plural(s.Of, "trial"), size.Duration(roundWait(s.Longest)), base, of)
}

// roundWait rounds the length of a wait to two digits or so.
func roundWait(d time.Duration) time.Duration {
	if d > 100*time.Millisecond {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}

// stallLosses are the places that stall more often than the baseline, for what to avoid, the most frequent first.
func (r *Report) stallLosses() []string {
	type stalling struct {
		share float64
		text  string
	}
	var found []stalling
	for _, w := range r.Workloads {
		for i := range w.Cells {
			if c := &w.Cells[i]; c.stalls() {
				found = append(found, stalling{float64(c.Stalls.Trials) / float64(c.Stalls.Of), fmt.Sprintf("%s for %s: it stalls (%s)", c.Label, w.Name, c.Stalls.text(c.own.Label))})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b stalling) int { return int(100 * (b.share - a.share)) })
	var out []string
	for _, s := range found {
		out = append(out, s.text)
	}
	return out
}

// more reports whether a larger share of the cell's trials stalled than of the baseline's.
func (s *Stalls) more() bool { return s.Trials*s.BaseOf > s.BaseTrials*s.Of }

// stallsText names the cells that stalled more often than their baselines, where that is not proven; empty if none did.
func (r *Report) stallsText() string {
	var parts []string
	var longest time.Duration
	cells := 0
	for _, w := range r.Workloads {
		var of []string
		for i := range w.Cells {
			if c := &w.Cells[i]; c.Stalls != nil && !c.Stalls.Proven && c.Kind != Slower && c.Stalls.more() {
				cells++
				longest = max(longest, c.Stalls.Longest)
				of = append(of, fmt.Sprintf("%s in %d", c.Label, c.Stalls.Trials))
			}
		}
		if len(of) > 0 {
			parts = append(parts, w.Name+" ("+strings.Join(of, ", ")+")")
		}
	}
	if len(parts) == 0 {
		return ""
	}
	const most = 3
	if n := len(parts) - most; n > 0 {
		parts = append(parts[:most], size.Plural(n, "other workload"))
	}
	return fmt.Sprintf("stalls, which ratios of typical blocks don't show, in trials of %s, %s at most: %s; none of them proven to stall more often than its baseline",
		size.Plural(cells, "cell"), size.Duration(roundWait(longest)), strings.Join(parts, ", "))
}
