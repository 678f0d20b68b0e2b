package report

import (
	"math"

	"plimsoll/hist"
	"plimsoll/internal/measure/record"
)

// percentileSamples is how many operations must lie beyond a percentile for it to be printed: p99.9 needs 10,000
// operations.
const percentileSamples = 10

// latencies merges the histograms of all trials and clients, class by class in the worker's order, and derives the figures
// from them.
func latencies(trials []*record.Trial) []Latency {
	out := histograms(trials)
	for i := range out {
		out[i].finish()
	}
	return out
}

// histograms merges as latencies does, without the figures.
func histograms(trials []*record.Trial) []Latency {
	var out []Latency
	for _, t := range trials {
		if t.Status != record.Done {
			continue
		}
		for i := range t.Results {
			for _, c := range t.Results[i].Classes {
				if c.Lat.Count() == 0 {
					continue
				}
				if c.Response != nil {
					// In an open loop, a user waits from when the I/O was due. The service time stands beside it under its
					// own name.
					class(&out, c.Name).hist.Merge(c.Response)
					class(&out, c.Name+" (service)").hist.Merge(c.Lat)
					continue
				}
				class(&out, c.Name).hist.Merge(c.Lat)
			}
		}
	}
	return out
}

func class(all *[]Latency, name string) *Latency {
	for i := range *all {
		if (*all)[i].Class == name {
			return &(*all)[i]
		}
	}
	*all = append(*all, Latency{Class: name, hist: &hist.Histogram{}})
	return &(*all)[len(*all)-1]
}

// finish derives the figures from the merged histogram.
func (l *Latency) finish() {
	l.Ops = l.hist.Count()
	l.P50, l.P99, l.P999 = l.percentile(50), l.percentile(99), l.percentile(99.9)
	l.Max, l.P99Low, l.P99High = Unknown, Unknown, Unknown
	if l.Ops > 0 {
		l.Max = Num(l.hist.Max())
	}
	l.Buckets = buckets(l.hist)
}

// percentile returns the p-th percentile in ns, unknown if too few operations
// are behind it.
func (l *Latency) percentile(p float64) Num {
	if float64(l.Ops) < needed(p) {
		return Unknown
	}
	return Num(l.hist.Percentile(p))
}

// needed is the least number of operations for percentile p: 10/(1-p).
func needed(p float64) float64 { return math.Round(percentileSamples / (1 - p/100)) }

// buckets lists the non-empty buckets of h, each by its middle in ns.
func buckets(h *hist.Histogram) [][2]uint64 {
	var out [][2]uint64
	for i, n := range h.All() {
		out = append(out, [2]uint64{hist.Value(i), n})
	}
	return out
}

// mainClass is the class whose latency the tables show: the first that any cell has operations of. It is syncs only if
// there is nothing else.
func mainClass(cells []Cell) string {
	for _, c := range cells {
		for _, l := range c.Latency {
			if l.Class != "sync" {
				return l.Class
			}
		}
	}
	for _, c := range cells {
		if len(c.Latency) > 0 {
			return c.Latency[0].Class
		}
	}
	return ""
}

// of returns the latency of the named class, nil if c has none.
func (c *Cell) of(name string) *Latency {
	for i := range c.Latency {
		if c.Latency[i].Class == name {
			return &c.Latency[i]
		}
	}
	return nil
}
