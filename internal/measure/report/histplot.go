package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// The sizes of a latency picture in pixels, and the number of steps of its curve.
const (
	histWidth  = 420
	histHeight = 44
	histBins   = 140
)

// histScale is the common scale of all cells' latencies in a workload.
func histScale(w *Workload) scale {
	s := scale{low: math.Inf(1), high: 0, from: 2, to: histWidth - 2, log: true}
	for i := range w.Cells {
		l := w.Cells[i].of(w.Class)
		if l == nil || len(l.Buckets) == 0 {
			continue
		}
		// The lowest and the highest ten-thousandth would only stretch the axis.
		s.low = min(s.low, max(1, float64(l.hist.Percentile(0.01))))
		s.high = max(s.high, float64(l.hist.Percentile(99.99)))
	}
	if math.IsInf(s.low, 0) {
		s.low, s.high = 1, 10
	}
	s.low, s.high = s.low*0.95, s.high*1.05
	return s
}

// histPath is the outline of l: the share of operations in each step of the logarithm of latency. It draws the square root
// of the share, which makes a thin tail visible.
func histPath(l *Latency, s scale) string {
	var bins [histBins]float64
	lowLog, span := math.Log(s.low), math.Log(s.high)-math.Log(s.low)
	most := 0.0
	for _, b := range l.Buckets {
		at := (math.Log(max(float64(b[0]), 1)) - lowLog) / span
		if at < 0 || at > 1 {
			continue
		}
		i := min(int(at*histBins), histBins-1)
		bins[i] += float64(b[1])
		most = max(most, bins[i])
	}
	if most == 0 {
		return ""
	}
	step := (s.to - s.from) / histBins
	var d strings.Builder
	last := -1.0
	fmt.Fprintf(&d, "M%s %d", coord(s.from), histHeight)
	for i, n := range bins {
		h := math.Round(10*math.Sqrt(n/most)*(histHeight-3)) / 10
		if h != last {
			// A step is one vertical and one horizontal stroke.
			fmt.Fprintf(&d, "H%sV%s", coord(s.from+float64(i)*step), coord(histHeight-h))
			last = h
		}
	}
	fmt.Fprintf(&d, "H%sV%dZ", coord(s.to), histHeight)
	return d.String()
}

// histogram draws the latencies of one cell over the outline of the baseline, which is defined once under the id base.
func histogram(c *Cell, l *Latency, s scale, base string, isBase bool) template.HTML {
	p := newSVG(histWidth, histHeight, fmt.Sprintf("latencies of %s: p50 %s, p99 %s, p99.9 %s", c.Label, l.percentileText(l.P50), l.percentileText(l.P99), l.percentileText(l.P999)))
	id := ""
	if isBase {
		id = ` id="` + base + `"`
	}
	fmt.Fprintf(p, `<path class="area"%s d="%s"/>`, id, histPath(l, s))
	if !isBase && base != "" {
		fmt.Fprintf(p, `<use href="#%s" class="over"/>`, base)
	}
	for _, q := range []Num{l.P50, l.P99, l.P999} {
		if q.Known() {
			x := s.at(float64(q))
			p.line("mark", x, 0, x, histHeight)
		}
	}
	return p.end()
}

// histAxis draws the scale of the latencies at powers of ten.
func histAxis(s scale) template.HTML {
	p := newSVG(histWidth, forestHeight, "scale of the latencies, logarithmic")
	for v := math.Pow(10, math.Floor(math.Log10(s.low))); v <= s.high; v *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if v*m < s.low || v*m > s.high {
				continue
			}
			x := s.at(v * m)
			p.line("tick", x, forestHeight-5, x, forestHeight)
			anchor := "middle"
			if x < 20 {
				anchor = "start"
			} else if x > histWidth-20 {
				anchor = "end"
			}
			if m == 1 || s.high/s.low < 100 {
				p.text("axis", anchor, x, 12, strings.Replace(durationText(Num(v*m)), ".00", "", 1))
			}
		}
	}
	return p.end()
}
