package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/stats"
	"plimsoll/internal/text/size"
)

// compare makes all comparisons of all workloads in one call to package stats. The intervals are simultaneous over the run:
// the more cells a plan has, the more evidence it takes to call one of them different.
func (g *gathered) compare(r *Report, opt Options) {
	m, index := g.matrix()
	var pairs []stats.Pair
	var to []func(stats.Comparison)
	for i := range r.Workloads {
		w := &r.Workloads[i]
		groups := g.cells[w.Name]
		base := slices.IndexFunc(groups, func(c *group) bool { return g.isBaseline(c) })
		if base < 0 || w.Cells[base].N == 0 {
			w.noBaseline(base, g.run.Baseline[w.Name], isLine(g.run))
			continue
		}
		w.Baseline = w.Cells[base].Label
		for j := range w.Cells {
			c := &w.Cells[j]
			own := baselineFor(groups, groups[base], groups[j])
			switch {
			case c.N == 0:
				c.fail()
				continue
			case own == groups[j]:
				c.Kind, c.Verdict = Base, "baseline"
			case own == nil || !own.measured():
				c.Kind, c.Verdict = Missing, fmt.Sprintf("no baseline with %s", size.Plural(c.Clients, "client"))
			default:
				pairs = append(pairs, stats.Pair{Cell: index[groups[j]], Baseline: index[own], Control: c.Control, Look: g.look(groups[j])})
				c.own = &w.Cells[slices.Index(groups, own)]
				to = append(to, func(x stats.Comparison) {
					c.compared(x)
					c.warnOf(c.own)
					w.noiseFloor(x)
				})
			}
			if one := single(groups, groups[j]); one != nil {
				pairs = append(pairs, stats.Pair{Cell: index[groups[j]], Baseline: index[one], Look: g.look(groups[j])})
				to = append(to, func(x stats.Comparison) { c.scaling(x) })
			}
		}
	}
	for i, x := range stats.Compare(m, pairs, stats.Options{
		Confidence: confidence, Margin: r.Run.Margin, Resamples: opt.Resamples, Seed: r.Run.Seed,
	}) {
		to[i](x)
	}
}

// isBaseline reports whether c is the cell that the others of its workload are compared with.
func (g *gathered) isBaseline(c *group) bool {
	return !c.cell.Control && c.key == g.run.Baseline[c.cell.Workload]
}

// baselineFor returns the cell that c is compared with: the one like base with as many clients and under the same limits. The
// sum of several clients can't be compared with one client; and beside a place without limits, a place under limits shows
// what the limits cost and not what the place costs. That is what is left to say of the baseline's own place under limits, and
// of limits under which the baseline was not measured: those cells are compared with base without these limits. It is nil
// if there is no such cell.
func baselineFor(groups []*group, base, c *group) *group {
	want := base.cell
	want.Clients = c.cell.Clients
	unlimited := cellLike(groups, want)
	want.Limits = c.cell.Limits
	if same := cellLike(groups, want); same != nil && same != c && same.measured() {
		return same
	}
	return unlimited
}

// cellLike returns the cell with the names of want; nil if there is none.
func cellLike(groups []*group, want record.Cell) *group {
	for _, o := range groups {
		if o.cell == want {
			return o
		}
	}
	return nil
}

// measured reports whether a trial of the cell has a figure.
func (c *group) measured() bool { return slices.ContainsFunc(c.trials, measured) }

// baseline is the cell at the end of the comparisons: itself if it is a baseline.
func (c *Cell) baseline() *Cell {
	for c.own != nil {
		c = c.own
	}
	return c
}

// costsLimits reports whether the cell is compared with one under other limits: its ratio is the cost of its limits.
func (c *Cell) costsLimits() bool { return c.own != nil && c.own.Limits != c.Limits }

// single returns the cell like c with one client; nil if there is none or it is c.
func single(groups []*group, c *group) *group {
	want := c.cell
	want.Clients = 1
	if c.cell.Clients <= 1 {
		return nil
	}
	return cellLike(groups, want)
}

// matrix returns the values by cell and block; NaN where there is none.
func (g *gathered) matrix() (stats.Matrix, map[*group]int) {
	column := make(map[int]int, len(g.blocks))
	for i, b := range g.compared() {
		column[b] = i
	}
	var m stats.Matrix
	index := map[*group]int{}
	for _, w := range g.workloads {
		for _, c := range g.cells[w] {
			row := make([]float64, 0, len(column))
			for _, b := range g.compared() {
				if b < g.until(c) {
					row = append(row, math.NaN())
				}
			}
			for _, t := range c.trials {
				if i, ok := column[t.Block]; ok && i < len(row) && measured(t) {
					row[i] = metricOf(t).Rate(t.Value)
				}
			}
			index[c] = len(m.Values)
			m.Cells = append(m.Cells, w+": "+label(c.cell))
			m.Values = append(m.Values, row)
		}
	}
	return m, index
}

// compared returns the blocks that comparisons rest on: all of them, but only the complete ones of a run that did not end.
// Otherwise a trial that was never run would count as failed.
func (g *gathered) compared() []int {
	if g.run.Status == record.Done {
		return g.blocks
	}
	var whole []int
	for _, b := range g.blocks {
		if g.complete(b) {
			whole = append(whole, b)
		}
	}
	if len(whole) == 0 {
		return g.blocks
	}
	return whole
}

// complete reports whether every cell has a trial, measured or failed, in block b.
func (g *gathered) complete(b int) bool {
	for _, cells := range g.cells {
		for _, c := range cells {
			if b < g.until(c) && !slices.ContainsFunc(c.trials, func(t *record.Trial) bool { return t.Block == b }) {
				return false
			}
		}
	}
	return true
}

// noBaseline writes into every cell why it isn't compared.
func (w *Workload) noBaseline(base int, key string, line bool) {
	switch {
	case base >= 0:
		w.BaselineWhy = fmt.Sprintf("no ratios: the baseline, %s, failed, so nothing can be compared with it", w.Cells[base].Label)
	case key == "" && line:
		w.BaselineWhy = "no ratios: a line of a tool is measured alone"
	case key == "":
		w.BaselineWhy = "no ratios: the plan names no baseline"
	default:
		w.BaselineWhy = fmt.Sprintf("no ratios: the baseline (%s) was not measured", key)
	}
	for j := range w.Cells {
		c := &w.Cells[j]
		if c.N == 0 {
			c.fail()
			continue
		}
		c.Kind, c.Verdict = Missing, "no baseline to compare with"
	}
}

// fail writes the verdict of a cell without a single measured trial.
func (c *Cell) fail() {
	c.Kind = Failed
	c.Verdict = "FAILED"
	if c.FailedN > 0 {
		c.Verdict = fmt.Sprintf("FAILED in %s", size.Plural(c.FailedN, "trial"))
	}
}

// compared copies the comparison with the baseline.
func (c *Cell) compared(x stats.Comparison) {
	c.Kind, c.Verdict = kindOf(x), x.Sentence()
	if x.Verdict != stats.NoData {
		c.Compared = &Compared{
			Ratio: Num(x.Ratio), Low: Num(x.Low), High: Num(x.High), P: Num(x.P),
			Wins: x.Wins, N: x.Blocks, Tentative: x.Tentative, More: x.More, Against: c.own.Label,
		}
		if c.Kind == Control {
			c.Compared.Low, c.Compared.High = Num(x.PointLow), Num(x.PointHigh)
		}
		if x.High == 0 {
			// A single block gives no interval and no test.
			c.Compared.Low, c.Compared.High, c.Compared.P = Unknown, Unknown, Unknown
		}
	}
	if c.FailedN > 0 {
		c.Verdict += fmt.Sprintf("; %d of %d trials FAILED", c.FailedN, c.FailedN+c.N)
	}
}

// scaling compares the sum over clients with one client, in words.
func (c *Cell) scaling(x stats.Comparison) {
	switch {
	case x.Verdict == stats.NoData:
	case x.High == 0:
		c.Scaling = fmt.Sprintf("%d clients together reach %.2f x one client", c.Clients, x.Ratio)
	default:
		c.Scaling = fmt.Sprintf("%d clients together reach %.2f x one client (%.2f to %.2f)", c.Clients, x.Ratio, x.Low, x.High)
	}
}

func kindOf(x stats.Comparison) Kind {
	switch {
	case x.Verdict == stats.NoData:
		return Missing
	case x.Pair.Control:
		return Control
	case x.Verdict == stats.Slower:
		return Slower
	case x.Verdict == stats.Faster:
		return Faster
	case x.Verdict == stats.Equivalent:
		return Equivalent
	}
	return Inconclusive
}

// noiseFloor keeps the result of the A/A control.
func (w *Workload) noiseFloor(x stats.Comparison) {
	if !x.Pair.Control || x.Verdict == stats.NoData || x.High == 0 {
		return
	}
	w.Noise = &Noise{Floor: Num(x.Floor), Text: x.Sentence(), Loud: x.Floor > x.Margin}
	if w.Noise.Loud {
		w.Noise.Text += fmt.Sprintf(", more than the %.3g %% that count as equal: this workload is not steady here", 100*x.Margin)
	}
}

// short is the verdict for a table's column. The noise floor and the number of blocks, which explain it, stand once above
// the table.
func (c *Cell) short() string {
	if c.Kind == Control {
		return record.AAControl
	}
	s := strings.Replace(c.Verdict, ": two identical cells differ", "", 1)
	if s != c.Verdict {
		s = "too noisy to say"
	}
	s = strings.NewReplacer(": about ", ", ~", ": 1,000 more blocks or more", ", 1,000+ more blocks").Replace(s)
	if c.FailedN > 0 && c.N > 0 {
		s = strings.Replace(s, fmt.Sprintf("%d of %d trials FAILED", c.FailedN, c.FailedN+c.N), fmt.Sprintf("%d/%d FAILED", c.FailedN, c.FailedN+c.N), 1)
	}
	if i := strings.Index(s, " ("); i > 0 && c.Compared != nil && c.Compared.Tentative {
		if j := strings.Index(s[i:], ")"); j > 0 {
			s = s[:i] + s[i+j+1:]
		}
	}
	return s
}
