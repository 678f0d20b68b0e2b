package report

import (
	"fmt"
	"strings"

	"plimsoll/hist"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/stats"
	"plimsoll/internal/text/size"
)

// addP99Interval gives the p99 of l its interval over the trials. The histograms of a trial's clients are merged into one,
// because clients run at the same time under the same conditions.
func (l *Latency) addP99Interval(trials []*record.Trial, seed uint64) {
	l.P99Low, l.P99High = Unknown, Unknown
	if !l.P99.Known() {
		return
	}
	var in stats.Latencies
	at := map[uint64]int{}
	for i, b := range l.Buckets {
		in.Values = append(in.Values, float64(b[0]))
		at[b[0]] = i
	}
	for _, t := range trials {
		h := classHistogram(t, l.Class)
		if h == nil {
			in.Counts = append(in.Counts, nil) // It failed.
			continue
		}
		row := make([]uint64, len(in.Values))
		for i, n := range h.All() {
			row[at[hist.Value(i)]] = n
		}
		in.Counts = append(in.Counts, row)
	}
	p := stats.Percentiles(in, []float64{0.99}, seed)[0]
	if p.NA == "" {
		l.P99Low, l.P99High, l.P99Range = Num(p.Low), Num(p.High), p.Range
	}
}

// classHistogram merges the clients' histograms of one class of a trial; nil if the trial has none. The result may belong
// to the record, and must not be changed.
func classHistogram(t *record.Trial, name string) *hist.Histogram {
	if t.Status == record.Done && len(t.Results) == 1 {
		for _, c := range t.Results[0].Classes {
			if c.Name == name && c.Response == nil && c.Lat.Count() > 0 {
				return c.Lat // A copy would be half of the work of a big report.
			}
		}
	}
	for _, l := range histograms([]*record.Trial{t}) {
		if l.Class == name {
			return l.hist
		}
	}
	return nil
}

// p99Text prints the interval of the p99: "130 µs – 141 µs", or "" if there is none.
func (l *Latency) p99Text() string {
	if l == nil || !l.P99Low.Known() {
		return ""
	}
	return durationText(l.P99Low) + " – " + durationText(l.P99High)
}

// outliers finds the trials of a cell that lie far from its others, by block. They stay in all figures; the reader decides
// what to do about them.
func outliers(trials []*record.Trial) (blocks []int) {
	var rates []float64
	var of []*record.Trial
	for _, t := range trials {
		if measured(t) {
			rates, of = append(rates, t.Value), append(of, t)
		}
	}
	for _, i := range stats.Outliers(rates) {
		blocks = append(blocks, of[i].Block)
	}
	return blocks
}

// outlierText is the sentence on the outliers of a cell; empty if there are none.
func (c *Cell) outlierText() string {
	if len(c.Outliers) == 0 {
		return ""
	}
	var blocks []string
	for _, b := range c.Outliers {
		blocks = append(blocks, record.BlockName(b))
	}
	return fmt.Sprintf("%s: %s far off the others, in %s; nothing was left out",
		c.Label, plural(len(blocks), "a trial lies", size.Plural(len(blocks), "trial")+" lie"), strings.Join(blocks, ", "))
}
