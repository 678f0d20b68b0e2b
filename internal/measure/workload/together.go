package workload

import "time"

// Span returns the time from the first start of several clients' windows to the last end, and how much earlier the first of
// them ended than the last. Both are by the clients' wall clocks, which are one clock: a cell's clients run on one machine.
// ok is false if the starts are not known.
func Span(results []Result) (span, apart time.Duration, ok bool) {
	if len(results) == 0 {
		return 0, 0, false
	}
	end := func(r *Result) time.Time { return r.Start.Add(r.Elapsed) }
	first, firstEnd, lastEnd := results[0].Start, end(&results[0]), end(&results[0])
	for i := range results {
		r := &results[i]
		if r.Start.IsZero() {
			return 0, 0, false
		}
		if r.Start.Before(first) {
			first = r.Start
		}
		if end(r).Before(firstEnd) {
			firstEnd = end(r)
		}
		if end(r).After(lastEnd) {
			lastEnd = end(r)
		}
	}
	return lastEnd.Sub(first), lastEnd.Sub(firstEnd), true
}

// Together returns the figure of metric m for clients that ran at the same time: that time, or all their work over the time
// from the first start to the last end. The sum of their own rates would be too high if they did not run together for the
// whole time.
func Together(results []Result, m Metric) float64 {
	span, _, ok := Span(results)
	if ok && m.LowerIsBetter() {
		return span.Seconds()
	}
	if len(results) == 1 || !ok {
		var sum float64
		for i := range results {
			sum += results[i].Value(m)
		}
		return sum
	}
	if span <= 0 {
		return 0
	}
	var ops, bytes int64
	for i := range results {
		o, b := results[i].counted()
		ops, bytes = ops+o, bytes+b
	}
	if m.Unit == "B/s" {
		return float64(bytes) / span.Seconds()
	}
	return float64(ops) / span.Seconds()
}

// Outside is how many bytes several clients moved outside of the window of one of them. The bytes of an interval are spread
// evenly over it.
func Outside(results []Result, one *Result) int64 {
	var sum float64
	for i := range results {
		r := &results[i]
		if r.Start.IsZero() || one.Start.IsZero() {
			continue
		}
		begin := one.Start.Sub(r.Start) // the beginning of that window, relative to that of r
		last := time.Duration(0)
		for _, s := range r.Samples {
			if length := s.At - last; length > 0 {
				inside := max(min(s.At, begin+one.Elapsed)-max(last, begin), 0)
				sum += float64(s.Bytes) * float64(length-inside) / float64(length)
				last = s.At
			}
		}
	}
	return int64(sum)
}
