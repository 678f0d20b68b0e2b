package report

import (
	"math"
	"slices"

	"plimsoll/internal/measure/record"
)

// addTrials copies the raw figures.
func (r *Report) addTrials(g *gathered, opt Options) {
	index := map[record.Cell]int{}
	odd := map[record.Cell][]int{}
	for _, w := range r.Workloads {
		for _, c := range w.Cells {
			index[c.Cell] = c.Index
			odd[c.Cell] = c.Outliers
		}
	}
	points := 0
	for _, t := range g.trials {
		row := Trial{
			Cell: index[t.Cell], Block: t.Block, Order: t.Order, Status: t.Status, Value: Num(t.Value),
			Overhead: t.Overhead.Milliseconds(),
		}
		if !t.Started.IsZero() && !r.Run.Started.IsZero() {
			row.Started = t.Started.Sub(r.Run.Started).Milliseconds()
		}
		if t.Status != record.Done {
			row.Value = Unknown
		}
		row.Outlier = row.Value.Known() && slices.Contains(odd[t.Cell], t.Block)
		s := seriesOf(t)
		row.Second = s.step.Seconds()
		for _, v := range s.rates {
			row.Rates = append(row.Rates, Num(math.Round(v)))
		}
		row.Steady = trialSteady(t)
		if opt.TrialHistograms >= 0 && points <= opt.TrialHistograms {
			points += row.addBuckets(t)
		}
		r.Trials = append(r.Trials, row)
	}
	if opt.TrialHistograms < 0 || points > opt.TrialHistograms {
		r.LeftOut = "the histograms of single trials; the merged ones of all cells are here, and the run's records hold them all"
		for i := range r.Trials {
			r.Trials[i].Buckets = nil
		}
	}
}

// addBuckets adds the histogram of the first class, merged over the clients,
// and returns its size.
func (row *Trial) addBuckets(t *record.Trial) int {
	l := latencies([]*record.Trial{t})
	if len(l) == 0 {
		return 0
	}
	row.Buckets = l[0].Buckets
	return len(row.Buckets)
}
