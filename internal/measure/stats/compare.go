package stats

import (
	"math"
	"math/rand/v2"
)

// A Matrix holds the rates of a run: Values[cell][block], higher is better.
// NaN is a trial that failed or was never run. A rate that is zero, negative or infinite
// is data of its own kind: the pair gets the verdict NoData with a reason, since
// leaving such a trial out would flatter the cell. Rows may differ in length; a
// pair uses the blocks that both rows have.
type Matrix struct {
	// Cells names the rows.
	Cells  []string
	Values [][]float64
}

// name returns the name of row i, or nothing.
func (m Matrix) name(i int) string {
	if i < 0 || i >= len(m.Cells) {
		return ""
	}
	return m.Cells[i]
}

// A Pair asks how much faster Cell is than Baseline; both are rows of the Matrix.
type Pair struct {
	Cell     int `json:"cell"`
	Baseline int `json:"baseline"`
	// Control marks an A/A control: Cell is the same thing as Baseline under another
	// label. All other pairs with that Baseline are compared with both together.
	Control bool `json:"control,omitempty"`
	// Look is how many times verdicts on fewer blocks were seen before these, for more blocks to be added: see spent.
	Look int `json:"look,omitempty"`
}

// Options tune Compare. The zero value means the defaults.
type Options struct {
	// Confidence is that of the whole family, and of all looks at it, above 0 and below 1. Default 0.95.
	Confidence float64
	// Margin is the zone of equivalence: with 0.05 ratios from 0.95 to 1.05 are
	// equal for all practical purposes. Above 0 and below 1. Default 0.05.
	Margin float64
	// Resamples is how often the blocks are drawn again, at least 1,000. Default 10,000.
	Resamples int
	// Seed makes the draws repeatable; 0 is a seed like any other.
	Seed uint64
}

// withDefaults replaces what is unset or senseless.
func (o Options) withDefaults() Options {
	if !(o.Confidence > 0 && o.Confidence < 1) {
		o.Confidence = 0.95
	}
	if !(o.Margin > 0 && o.Margin < 1) {
		o.Margin = 0.05
	}
	if o.Resamples <= 0 {
		o.Resamples = 10_000
	}
	o.Resamples = max(o.Resamples, 1000)
	return o
}

// A Comparison says how a cell's rate relates to its baseline's. No field is
// ever NaN or infinite, so that it can be written as JSON.
type Comparison struct {
	Pair Pair `json:"pair"`
	// Cell and Baseline are the names of the rows.
	Cell     string `json:"cell"`
	Baseline string `json:"baseline"`
	// Ratio estimates cell rate / baseline rate: the Hodges-Lehmann centre of
	// the paired log ratios (see centre), about their median. 0 without data.
	Ratio float64 `json:"ratio"`
	// Low and High bound the ratio, together with all other pairs of the report
	// at the family's confidence. Both are 0 when there is no interval: no
	// data, or a single block.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// PointLow and PointHigh are the narrower interval that would be right if this
	// pair were the only one anybody looks at. No verdict rests on it but the
	// noise floor's.
	PointLow  float64 `json:"point_low"`
	PointHigh float64 `json:"point_high"`
	// P is that of Wilcoxon's exact signed-rank test over the blocks, two-sided,
	// not corrected for the family; no verdict rests on it. 1 without data.
	P float64 `json:"p"`
	// Wins and Losses count the blocks in which the cell was faster or slower.
	Wins   int `json:"wins"`
	Losses int `json:"losses"`
	// Blocks is how many blocks count, Asked how many the matrix has.
	Blocks  int     `json:"blocks"`
	Asked   int     `json:"asked"`
	Verdict Verdict `json:"verdict"`
	// Tentative: fewer than six blocks, where no distribution-free 95 % interval
	// exists. The interval then rests on the noise of other cells and on normality.
	Tentative bool `json:"tentative,omitempty"`
	// Floor is the noise floor: 0.09 means that two identical cells may differ by a
	// factor of up to 1.09. 0 without a control.
	Floor float64 `json:"floor"`
	// TooNoisy: Inconclusive for no other reason than that the control differs from the
	// baseline, which is the same thing.
	TooNoisy bool `json:"too_noisy,omitempty"`
	// More estimates how many more blocks would settle an inconclusive pair, if
	// the ratio stays where it is; maxMore means that or more.
	More int `json:"more,omitempty"`
	// Reason reports why there is no data, or that trials are missing.
	Reason string `json:"reason,omitempty"`
	// Margin and Confidence are those that were used.
	Margin     float64 `json:"margin"`
	Confidence float64 `json:"confidence"`
}

// Compare answers all pairs of a report as one family, in their order.
func Compare(m Matrix, pairs []Pair, opt Options) []Comparison {
	opt = opt.withDefaults()
	out := make([]Comparison, len(pairs))
	var ps []paired
	var at []int
	both := withControls(m, pairs)
	for i, pr := range pairs {
		p := pair(m, pr, both)
		out[i] = begin(m, pr, &p, opt)
		if p.n() >= 2 {
			ps = append(ps, p)
			at = append(at, i)
		}
	}
	spans := intervals(ps, opt)
	floors := noiseFloors(pairs, at, spans)
	excess := excessNoise(pairs, at, spans)
	for k, i := range at {
		s := spans[k]
		if !pairs[i].Control {
			s = s.wider(excess)
		}
		out[i].settle(s, floors[pairs[i].Baseline])
	}
	return out
}

// begin fills in all that needs no other pair.
func begin(m Matrix, pr Pair, p *paired, opt Options) Comparison {
	c := Comparison{
		Pair: pr, Cell: m.name(pr.Cell), Baseline: m.name(pr.Baseline),
		P: 1, Blocks: p.n(), Asked: p.blocks, Reason: p.reason,
		Margin: opt.Margin, Confidence: opt.Confidence,
	}
	if p.n() == 0 {
		c.Verdict = NoData
		return c
	}
	c.Ratio = ratio(p.centre)
	c.P = signedRank(p.logs)
	for _, x := range p.logs {
		switch {
		case x > 0:
			c.Wins++
		case x < 0:
			c.Losses++
		}
	}
	if lost := p.blocks - p.n(); lost > 0 {
		c.Reason = plural(lost, "block") + " of " + number(p.blocks) + " left out: a trial failed"
	}
	// These hold for a single block; settle overwrites them where there are more.
	c.Verdict = Inconclusive
	c.Tentative = p.n() < leastBlocks
	c.More = max(0, leastBlocks-p.n())
	return c
}

// A span is an interval of a log ratio around centre.
type span struct {
	n      int
	centre float64
	// half is simultaneous, point holds for a single comparison. one is half for a bound on
	// one side only, which equivalence needs on each (two one-sided tests): a ratio can't be
	// beyond both.
	half, point, one float64
	// err is the standard error that is believed.
	err float64
}

// wider returns a span whose errors are larger by a factor.
func (s span) wider(f float64) span {
	s.half *= f
	s.point *= f
	s.one *= f
	s.err *= f
	return s
}

// intervals returns a span for each pair, in order.
func intervals(ps []paired, opt Options) []span {
	if len(ps) == 0 {
		return nil
	}
	rng := rand.New(rand.NewPCG(opt.Seed, 0x706c696d736f6c6c))
	level := levels(ps, opt.Resamples, rng)
	out := make([]span, len(ps))
	for i, b := range beliefs(ps, strangers, sharpenings) {
		n, alpha := ps[i].n(), level(1-spent(1-opt.Confidence, ps[i].look))
		cost := widen(n)
		out[i] = span{
			n: n, centre: ps[i].centre,
			half:  cost * b.halfWidth(n, alpha),
			point: cost * b.halfWidth(n, 1-opt.Confidence),
			one:   cost * b.halfWidth(n, min(1, 2*alpha)),
			err:   cost * b.deviation() / math.Sqrt(float64(n)),
		}
	}
	return out
}

// ratio turns a log back, within what a float and JSON can hold.
func ratio(log float64) float64 {
	return min(math.MaxFloat64, math.Exp(log))
}
