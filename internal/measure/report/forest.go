package report

import (
	"fmt"
	"html/template"
)

// Sizes of the forest plot's rows in pixels.
const (
	forestWidth  = 200
	forestHeight = 22
	forestEdge   = 10
)

// Ratios beyond these are drawn as an arrow at the edge: a place in memory that is six times as fast must not squeeze all
// others.
const (
	forestLeast = 0.25
	forestMost  = 2.0
)

// forestScale is the common scale of a workload's ratios. It is logarithmic, so that equal factors have equal widths, and
// always includes the zone of equivalence.
func forestScale(w *Workload, margin float64) scale {
	s := scale{low: 1 - 2*margin, high: 1 + 2*margin, from: forestEdge, to: forestWidth - forestEdge, log: true}
	for _, c := range w.Cells {
		if c.Compared == nil {
			continue
		}
		for _, v := range []Num{c.Compared.Ratio, c.Compared.Low, c.Compared.High} {
			if v.Known() {
				s.low, s.high = min(s.low, float64(v)*0.97), max(s.high, float64(v)*1.03)
			}
		}
	}
	s.low, s.high = max(s.low, min(forestLeast, 1-2*margin)), min(s.high, max(forestMost, 1+2*margin))
	return s
}

// forest draws one row: the ratio with its interval, the zone of equivalence shaded.
func forest(c *Cell, s scale, margin float64) template.HTML {
	title := c.Label + ": " + c.Verdict
	if x := c.Compared; x != nil {
		title += fmt.Sprintf("; ratio %s, 95 %% interval %s to %s", ratioText(x.Ratio), known(x.Low, ratioText), known(x.High, ratioText))
	}
	p := newSVG(forestWidth, forestHeight, title)
	mid := float64(forestHeight) / 2
	p.rect("zone", s.at(1-margin), 0, s.at(1+margin)-s.at(1-margin), forestHeight)
	p.line("one", s.at(1), 0, s.at(1), forestHeight)
	switch {
	case c.Kind == Base:
		p.dot("k-baseline", s.at(1), mid, 4)
	case c.Compared != nil && c.Compared.Ratio.Known():
		p.interval("k-"+string(c.Kind), c.Compared, s, mid)
	}
	return p.end()
}

// interval draws a ratio with its interval, or an arrow if the ratio is off the scale.
func (p *svg) interval(class string, x *Compared, s scale, y float64) {
	ratio := float64(x.Ratio)
	if x.Low.Known() && x.High.Known() {
		low, high := s.at(float64(x.Low)), s.at(float64(x.High))
		p.line("ci "+class, low, y, high, y)
		// An end beyond the scale has no cap: the bar runs into the edge.
		if high-low > 12 && float64(x.Low) >= s.low {
			p.line("ci "+class, low, y-4, low, y+4)
		}
		if high-low > 12 && float64(x.High) <= s.high {
			p.line("ci "+class, high, y-4, high, y+4)
		}
	}
	switch {
	case ratio > s.high:
		p.arrow(class, forestWidth-2, y, -8)
	case ratio < s.low:
		p.arrow(class, 2, y, 8)
	default:
		p.dot(class, s.at(ratio), y, 3.6)
	}
}

// arrow draws a head whose tip is at x.
func (p *svg) arrow(class string, x, y, back float64) {
	fmt.Fprintf(p, `<path class="arrow %s" d="M%s %sl%s -5v10z"/>`, class, coord(x), coord(y), coord(back))
}

// forestAxis draws the column's head: marks at round factors.
func forestAxis(s scale, margin float64) template.HTML {
	p := newSVG(forestWidth, forestHeight, "scale of the ratios to the baseline")
	p.rect("zone", s.at(1-margin), forestHeight-4, s.at(1+margin)-s.at(1-margin), 4)
	free := -100.0
	for _, v := range append([]float64{1}, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000) {
		if v < s.low || v > s.high {
			continue
		}
		x := s.at(v)
		if v != 1 && (x-free < 36 || x-s.at(1) < 26 && x-s.at(1) > -26) {
			continue
		}
		if v != 1 {
			free = x
		}
		p.line("tick", x, forestHeight-5, x, forestHeight)
		p.text("axis", "middle", x, 12, trimRatio(v))
	}
	return p.end()
}

func trimRatio(v float64) string { return fmt.Sprintf("%gx", v) }
