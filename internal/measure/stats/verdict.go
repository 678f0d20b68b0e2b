package stats

import "math"

// A Verdict is what a comparison proves.
type Verdict string

// The verdicts. Faster and Slower are finds; Inconclusive says that neither a find nor
// equivalence is proved yet. sentence.go has their sentences.
const (
	// Faster and Slower: the whole interval lies on one side of 1, outside the
	// noise floor, and reaches beyond the margin of equivalence.
	Faster Verdict = "faster"
	Slower Verdict = "slower"
	// Equivalent: the whole interval lies within the margin, and the noise floor too.
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
func (s span) grown(n int, from int) span {
	f := math.Sqrt(float64(from) / float64(n))
	s.half *= f
	s.point *= f
	return s
}

// settle gives the verdict. floor is the control's span, zero when there is none.
func (c *Comparison) settle(s, floor span) {
	if c.Pair.Control {
		floor = span{}
		c.Floor = ratio(s.reach()) - 1
	} else {
		c.Floor = ratio(floor.reach()) - 1
	}
	c.Floor = min(c.Floor, math.MaxFloat64)
	c.Low, c.High = ratio(s.centre-s.half), ratio(s.centre+s.half)
	c.PointLow, c.PointHigh = ratio(s.centre-s.point), ratio(s.centre+s.point)
	c.Verdict = decide(s, floor, c.Margin)
	c.More = 0
	if c.Verdict != Inconclusive {
		return
	}
	c.TooNoisy = decide(s, span{}, c.Margin) != Inconclusive
	c.More = max(leastBlocks-c.Blocks, blocksToSettle(s, floor, c.Margin))
}

// decide is the three-way verdict on a span.
func decide(s, floor span, margin float64) Verdict {
	lo, hi, noise := s.centre-s.half, s.centre+s.half, floor.reach()
	least, most := math.Log1p(-margin), math.Log1p(margin)
	switch {
	case lo >= least && hi <= most:
		if noise > most {
			return Inconclusive
		}
		return Equivalent
	case lo > noise:
		return Faster
	case hi < -noise:
		return Slower
	}
	return Inconclusive
}

// blocksToSettle returns how many more blocks decide needs, at most maxMore.
func blocksToSettle(s, floor span, margin float64) int {
	for more := 1; more < maxMore; more++ {
		n := s.n + more
		if decide(s.grown(n, s.n), floor.grown(n, s.n), margin) != Inconclusive {
			return more
		}
	}
	return maxMore
}
