package stats

import "math"

// A Verdict is what a comparison proves.
type Verdict string

// The verdicts. Faster and Slower are finds; Inconclusive says that neither a find nor
// equivalence is proved yet. sentence.go has their sentences.
const (
	// Faster and Slower: the whole interval lies on one side of 1, and reaches beyond the
	// margin of equivalence.
	Faster Verdict = "faster"
	Slower Verdict = "slower"
	// Equivalent: the bounds on both sides lie within the margin.
	Equivalent   Verdict = "equivalent"
	Inconclusive Verdict = "inconclusive"
	// NoData: there is nothing to compare; Reason says why.
	NoData Verdict = "no data"
)

// leastBlocks is the fewest for which the range of the values is a distribution-free
// interval of the median with 95 % confidence: 1 - 2/2^6 = 0.969.
const leastBlocks = 6

// maxMore caps the estimate of blocks to come; what needs more won't be settled
// by waiting.
const maxMore = 1000

// noiseFloors returns the control's span by baseline row, the worst where there
// are several. The floor is the single-comparison interval, since it makes a
// statement on one workload, and its further end, since which of two identical cells
// is called the baseline is chance.
func noiseFloors(pairs []Pair, at []int, spans []span) map[int]span {
	out := map[int]span{}
	for k, i := range at {
		pr := pairs[i]
		if !pr.Control {
			continue
		}
		for _, row := range []int{pr.Baseline, pr.Cell} {
			if s, ok := out[row]; !ok || spans[k].reach() > s.reach() {
				out[row] = spans[k]
			}
		}
	}
	return out
}

// reach is the log of the largest factor by which identical cells may differ.
func (s span) reach() float64 {
	if s.n == 0 {
		return 0
	}
	return math.Abs(s.centre) + s.point
}

// grown predicts the span after there are n blocks, if the centre stays. Its width
// falls with the root of n; that fewer cells' noise must be borrowed then is left out.
func (s span) grown(n int) span { return s.wider(math.Sqrt(float64(s.n) / float64(n))) }

// settle gives the verdict. floor is the control's span, zero when there is none.
func (c *Comparison) settle(s, floor span) {
	if c.Pair.Control {
		c.Floor = ratio(s.reach()) - 1
		floor = span{}
	} else {
		c.Floor = ratio(floor.reach()) - 1
	}
	c.Floor = min(c.Floor, math.MaxFloat64)
	c.Low, c.High = ratio(s.centre-s.half), ratio(s.centre+s.half)
	c.PointLow, c.PointHigh = ratio(s.centre-s.point), ratio(s.centre+s.point)
	c.Verdict = decide(s, c.Margin)
	c.More = 0
	if c.Verdict != Inconclusive && floor.differs() {
		c.Verdict, c.TooNoisy, c.More = Inconclusive, true, maxMore
		return
	}
	if c.Verdict == Inconclusive {
		c.More = max(leastBlocks-c.Blocks, blocksToSettle(s, c.Margin))
	}
}

// differs reports whether a control differs from its baseline: their workload can't be trusted.
func (s span) differs() bool { return s.n > 0 && math.Abs(s.centre) > s.half }

// decide is the three-way verdict on a span.
func decide(s span, margin float64) Verdict {
	least, most := math.Log1p(-margin), math.Log1p(margin)
	switch {
	case s.centre-s.one >= least && s.centre+s.one <= most:
		return Equivalent
	case s.centre-s.half > 0:
		return Faster
	case s.centre+s.half < 0:
		return Slower
	}
	return Inconclusive
}

// blocksToSettle returns how many more blocks decide needs, at most maxMore.
func blocksToSettle(s span, margin float64) int {
	for more := 1; more < maxMore; more++ {
		if decide(s.grown(s.n+more), margin) != Inconclusive {
			return more
		}
	}
	return maxMore
}
