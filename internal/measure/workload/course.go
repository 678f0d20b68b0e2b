package workload

import (
	"slices"
	"time"

	"plimsoll/load"
)

// A Course is the common rate of several clients over time: Rates[i] is their rate from i*Step to (i+1)*Step. It goes from
// the moment in which the last of them had started to the moment in which the first of them was done. Outside of that, a
// fall would only show that a client was missing.
type Course struct {
	// Step is the usual length of the clients' own intervals (load.SampleEvery), 0 if there
	// is no course: no samples, or clients that never ran together.
	Step time.Duration
	// Rates are operations, or bytes, per second. A last interval of less than half a step is
	// left out: it shows noise.
	Rates []float64
}

// CourseOf adds up the samples of results by time. The operations of an interval are spread evenly over it, so the clients'
// intervals may have different starts and lengths.
func CourseOf(results []Result, unit string) Course {
	if unit == "B/s" {
		return courseOf(results, func(s load.Sample) float64 { return float64(s.Bytes) })
	}
	return courseOf(results, func(s load.Sample) float64 { return float64(s.Ops) })
}

// LatencyOf is the mean latency in seconds over time; 0 where nothing was done.
func LatencyOf(results []Result) Course {
	ops := courseOf(results, func(s load.Sample) float64 { return float64(s.Ops) })
	sum := courseOf(results, func(s load.Sample) float64 { return s.Lat.Seconds() })
	for i, n := range ops.Rates {
		if n > 0 {
			ops.Rates[i] = sum.Rates[i] / n
		}
	}
	return ops
}

// courseOf adds up amount over the samples by time.
func courseOf(results []Result, amount func(load.Sample) float64) Course {
	from, to, ok := together(results)
	if !ok || to <= from {
		return Course{}
	}
	c := Course{Step: usualStep(results)}
	// A clock that jumped must not make millions of empty intervals.
	most := 0
	for i := range results {
		most = max(most, len(results[i].Samples))
	}
	c.Step = max(c.Step, (to-from)/time.Duration(8*most+8))
	n := int((to - from) / c.Step)
	rest := (to - from) % c.Step
	if rest >= (c.Step+1)/2 {
		n++
	} else {
		rest = 0
	}
	if n == 0 {
		return Course{}
	}
	c.Rates = make([]float64, n)
	for i := range results {
		c.add(&results[i], from-offset(results, i), amount)
	}
	for i := range c.Rates {
		length := c.Step
		if i == n-1 && rest > 0 {
			length = rest
		}
		c.Rates[i] /= length.Seconds()
	}
	return c
}

// add spreads the samples of r over c, which begins at the time from of r.
func (c *Course) add(r *Result, from time.Duration, of func(load.Sample) float64) {
	last := time.Duration(0)
	for _, s := range r.Samples {
		amount, begin, end := of(s), last-from, s.At-from
		if s.At <= last {
			continue // A damaged record.
		}
		last = s.At
		length := float64(end - begin)
		for at := max(begin, 0); at < end; {
			bin := int(at / c.Step)
			if bin >= len(c.Rates) {
				break
			}
			next := min(time.Duration(bin+1)*c.Step, end)
			c.Rates[bin] += amount * float64(next-at) / length
			at = next
		}
	}
}

// together returns when the last client had started and when the first had its last sample, counted from the first start.
func together(results []Result) (from, to time.Duration, ok bool) {
	for i := range results {
		n := len(results[i].Samples)
		if n == 0 {
			return 0, 0, false
		}
		o := offset(results, i)
		end := o + results[i].Samples[n-1].At
		if i == 0 || end < to {
			to = end
		}
		from = max(from, o)
	}
	return from, to, len(results) > 0
}

// offset is how much later than the first client number i started; 0 if starts are not known.
func offset(results []Result, i int) time.Duration {
	first := results[i].Start
	for j := range results {
		if results[j].Start.IsZero() {
			return 0
		}
		if results[j].Start.Before(first) {
			first = results[j].Start
		}
	}
	return results[i].Start.Sub(first)
}

// usualStep is the median length of the clients' intervals.
func usualStep(results []Result) time.Duration {
	var lengths []time.Duration
	for i := range results {
		last := time.Duration(0)
		for _, s := range results[i].Samples {
			if s.At > last {
				lengths = append(lengths, s.At-last)
				last = s.At
			}
		}
	}
	slices.Sort(lengths)
	if len(lengths) == 0 {
		return 1
	}
	// If there are two intervals, this is the longer one, which is full.
	return lengths[len(lengths)/2]
}
