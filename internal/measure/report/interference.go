package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/stats"
	"plimsoll/internal/measure/workload"
)

// An Interference is how much pace a client loses next to others that do the same, compared with running alone in the same
// place under the same limits.
type Interference struct {
	Workload string `json:"workload"`
	// Cell is the Index of the cell with several clients, Alone that of the cell with one.
	Cell  int    `json:"cell"`
	Alone int    `json:"alone"`
	Label string `json:"label"`
	// Clients is how many ran at the same time: one client and its neighbours.
	Clients int `json:"clients"`
	// Score is the share of its pace that a client loses: 0 is nothing, 0.5 half of it. It is 1 minus the ratio of the
	// geometric mean of the clients' paces to the pace alone, paired by block. Below 0 the client gains.
	Score Num `json:"score"`
	// Low and High bound the score, together with all other scores of the report at 95 %; unknown with a single block.
	Low  Num `json:"low"`
	High Num `json:"high"`
	// N is how many blocks count. Tentative is set when they are too few to prove anything.
	N         int  `json:"n"`
	Tentative bool `json:"tentative,omitempty"`
	// PaceAlone and PaceBeside are medians in Unit: of the single client's pace, and of the geometric mean of several
	// clients' paces.
	PaceAlone  Num    `json:"pace_alone"`
	PaceBeside Num    `json:"pace_beside"`
	Unit       string `json:"unit"`
	// ToStorage is set if the pace includes the time until buffered writes were on the storage.
	ToStorage bool `json:"to_storage,omitempty"`
	// Verdict is "unhindered", "hindered" or "inconclusive"; "looks hindered" where Tentative.
	Verdict string `json:"verdict"`

	// engine, place and limits are the cell's; place includes the limits unless there are none.
	engine, place, limits string
}

// Verdicts of an Interference.
const (
	unhindered = "unhindered"
	hindered   = "hindered"
	unclear    = "inconclusive"
)

// paceOf is the rate of one client of a trial in the unit of the trial's metric, or its inverse where the metric is a time.
// Data that the kernel's flusher wrote back after the window counts with the time that this took. Otherwise the rate would
// be the speed of memory.
func paceOf(t *record.Trial, client int) (pace float64, storage bool) {
	r := &t.Results[client]
	v := metricOf(t).Rate(r.Value(metricOf(t)))
	if r.Flushed == nil || r.Settled <= 0 {
		return v, false
	}
	return v * float64(r.Elapsed) / float64(r.Elapsed+r.Settled), true
}

// paceUnit is the unit of paces for the metric m.
func paceUnit(m workload.Metric) string {
	if m.LowerIsBetter() {
		return "1/s"
	}
	return m.Unit
}

// pacesOf returns the geometric means of the clients' paces by block.
func (g *gathered) pacesOf(c *group, blocks []int) (paces []float64, storage bool) {
	paces = make([]float64, len(blocks))
	for i := range paces {
		paces[i] = math.NaN()
	}
	for _, t := range c.trials {
		i := slices.Index(blocks, t.Block)
		if i < 0 || !measured(t) || len(t.Results) == 0 {
			continue
		}
		sum := 0.0
		for n := range t.Results {
			p, to := paceOf(t, n)
			sum, storage = sum+math.Log(p), storage || to
		}
		paces[i] = math.Exp(sum / float64(len(t.Results)))
	}
	return paces, storage
}

// interference compares the cells of several clients with those of one client.
func (g *gathered) interference(r *Report, opt Options) {
	var m stats.Matrix
	var pairs []stats.Pair
	blocks := g.compared()
	for i := range r.Workloads {
		w := &r.Workloads[i]
		groups := g.cells[w.Name]
		for j, c := range groups {
			one := single(groups, c)
			if one == nil || c.cell.Control || w.Cells[j].N == 0 {
				continue
			}
			at := slices.Index(groups, one)
			alone, storage := g.pacesOf(one, blocks)
			beside, _ := g.pacesOf(c, blocks)
			n := len(m.Values)
			m.Cells = append(m.Cells, w.Name+": "+label(one.cell), w.Name+": "+label(c.cell))
			m.Values = append(m.Values, alone, beside)
			pairs = append(pairs, stats.Pair{Cell: n + 1, Baseline: n})
			out := Interference{
				Workload: w.Name, Cell: w.Cells[j].Index, Alone: w.Cells[at].Index, Label: w.Cells[at].Label, Clients: c.cell.Clients,
				Score: Unknown, Low: Unknown, High: Unknown, Unit: paceUnit(w.Metric), ToStorage: storage, Verdict: unclear,
				engine: c.cell.Engine, place: placeLabel(one.cell), limits: c.cell.Limits,
			}
			out.PaceAlone, out.PaceBeside = middle(alone), middle(beside)
			r.Interference = append(r.Interference, out)
		}
	}
	for i, x := range stats.Compare(m, pairs, stats.Options{Confidence: confidence, Margin: r.Run.Margin, Resamples: opt.Resamples, Seed: r.Run.Seed}) {
		r.Interference[i].judge(x)
	}
}

// middle is the median of the known values.
func middle(values []float64) Num {
	mid, _, _, _ := interval(slices.DeleteFunc(slices.Clone(values), math.IsNaN))
	return mid
}

// judge turns the ratio of two paces into a score.
func (f *Interference) judge(x stats.Comparison) {
	if x.Verdict == stats.NoData {
		return
	}
	f.Score, f.N, f.Tentative = Num(1-x.Ratio), x.Blocks, x.Tentative
	if x.High > 0 {
		f.Low, f.High = Num(1-x.High), Num(1-x.Low)
	}
	switch x.Verdict {
	case stats.Equivalent, stats.Faster:
		f.Verdict = unhindered
	case stats.Slower:
		f.Verdict = hindered
	}
	if f.Tentative && f.Verdict != unclear {
		f.Verdict = "looks " + f.Verdict
	}
}

// interferenceSheet is the table of the scores; nil without any.
func (r *Report) interferenceSheet() *sheet {
	if len(r.Interference) == 0 {
		return nil
	}
	s := &sheet{Title: "interference", Legend: "how much pace a client loses next to others that do the same, compared with running alone: 0 % nothing, 50 % half of it", Columns: []sheetColumn{
		{Head: "workload", Left: true, Group: true}, {Head: "engine", Left: true, Group: true}, {Head: "where", Left: true}, {Head: "clients", Group: true},
		{Head: "alone"}, {Head: "beside", Drop: 2}, {Head: "score"}, {Head: "95 % interval", Drop: 1}, {Head: "verdict", Left: true},
	}}
	for _, f := range r.Interference {
		pace := func(n Num) string { return known(n, func(n Num) string { return paceText(n, f.Unit) }) }
		if f.ToStorage {
			s.note("Buffered writes: the pace counts the time until they were on the storage.")
		}
		s.Rows = append(s.Rows, sheetRow{
			Group: fmt.Sprintf("%s, %s, %d clients", f.Workload, f.engine, f.Clients), Kind: f.kind(),
			Cells: []string{f.Workload, f.engine, f.place, fmt.Sprint(f.Clients), pace(f.PaceAlone), pace(f.PaceBeside), known(f.Score, share), f.span(), f.Verdict},
		})
	}
	return s
}

// span is the interval of the score.
func (f *Interference) span() string {
	if !f.Low.Known() {
		return notKnown
	}
	return strings.TrimSuffix(share(f.Low), " %") + " to " + share(f.High)
}

// kind is the score's verdict as the kind of a comparison.
func (f *Interference) kind() Kind {
	switch {
	case f.Verdict == unclear:
		return Inconclusive
	case strings.HasSuffix(f.Verdict, unhindered):
		return Equivalent
	}
	return Slower
}

// share is a score in percent. A gain of more than the whole pace is printed as "< -100 %": more digits would suggest a
// precision that so wide an interval doesn't have.
func share(n Num) string {
	if n < -1 {
		return "< -100 %"
	}
	s := fmt.Sprintf("%.0f %%", 100*float64(n))
	if s == "-0 %" {
		return "0 %"
	}
	return s
}

// paceText is a rate with its unit.
func paceText(n Num, name string) string {
	c := []Cell{{Median: n}}
	u := rateUnit(workload.Metric{Unit: name}, c)
	return u.format(n) + " " + u.name
}
