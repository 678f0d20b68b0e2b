package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// Sizes of the two pictures of a cell's course in pixels.
const (
	seriesWidth  = 210
	seriesHeight = 44
	// manyTrials is the number of trials from which a band is drawn: as many lines would blot.
	manyTrials = 12
	// manyPoints is the most points drawn for one trial.
	manyPoints = 200
)

// courseOf draws the rate inside the trials, interval by interval: one line for each trial, or the band of them all with
// its median.
func courseOf(c *Cell) template.HTML {
	p := newSVG(seriesWidth, seriesHeight, c.Label+": rate inside the trials, a line each, from 0 to the greatest")
	most, longest := 0.0, 0
	for _, s := range c.series {
		longest = max(longest, len(s.rates))
		for _, v := range s.rates {
			most = max(most, v)
		}
	}
	if most == 0 || longest < 2 {
		return ""
	}
	x := scale{low: 0, high: float64(longest - 1), from: 2, to: seriesWidth - 2}
	y := scale{low: 0, high: most * 1.05, from: seriesHeight - 1, to: 1}
	p.line("tick", 0, seriesHeight-0.5, seriesWidth, seriesHeight-0.5)
	if len(c.series) <= manyTrials {
		for _, s := range c.series {
			fmt.Fprintf(p, `<path class="run" d="%s"/>`, polyline(s.rates, x, y))
		}
		return p.end()
	}
	var low, mid, high []float64
	for i := range longest {
		var at []float64
		for _, s := range c.series {
			if i < len(s.rates) {
				at = append(at, s.rates[i])
			}
		}
		slices.Sort(at)
		low, mid, high = append(low, at[0]), append(mid, at[len(at)/2]), append(high, at[len(at)-1])
	}
	fmt.Fprintf(p, `<path class="band" d="%s%sZ"/>`, polyline(high, x, y), backwards(low, x, y))
	fmt.Fprintf(p, `<path class="run mid" d="%s"/>`, polyline(mid, x, y))
	return p.end()
}

func polyline(v []float64, x, y scale) string {
	var d strings.Builder
	every := max(1, len(v)/manyPoints)
	for i := 0; i < len(v); i += every {
		d.WriteString(map[bool]string{true: "M", false: "L"}[i == 0])
		d.WriteString(coord(x.at(float64(i))) + " " + coord(y.at(v[i])))
	}
	return d.String()
}

func backwards(v []float64, x, y scale) string {
	var d strings.Builder
	every := max(1, len(v)/manyPoints)
	for i := (len(v) - 1) / every * every; i >= 0; i -= every {
		d.WriteString("L" + coord(x.at(float64(i))) + " " + coord(y.at(v[i])))
	}
	return d.String()
}

// blocksOf draws the value of every trial by block, from 0, with the median as a line. It shows a drift, a step or two
// levels at a glance.
func blocksOf(c *Cell, blocks int) template.HTML {
	p := newSVG(seriesWidth, seriesHeight, c.Label+": the value of each trial by block, from 0 to the greatest, with the median")
	most, first, last := 0.0, 0, blocks-1
	for _, s := range c.series {
		most, first, last = max(most, s.value), min(first, s.block), max(last, s.block)
	}
	if most == 0 {
		return ""
	}
	x := scale{low: float64(first), high: float64(last), from: 5, to: seriesWidth - 5}
	y := scale{low: 0, high: most * 1.05, from: seriesHeight - 1, to: 3}
	p.line("tick", 0, seriesHeight-0.5, seriesWidth, seriesHeight-0.5)
	if c.Median.Known() {
		m := y.at(float64(c.Median))
		p.line("med", 0, m, seriesWidth, m)
	}
	// One path of zero-length strokes with round ends: dots, with a third of the markup.
	var d, odd strings.Builder
	for _, s := range c.series {
		to := &d
		if s.outlier {
			to = &odd
		}
		fmt.Fprintf(to, "M%s %sh0", coord(x.at(float64(s.block))), coord(y.at(s.value)))
	}
	fmt.Fprintf(p, `<path class="dots" d="%s"/>`, d.String())
	if odd.Len() > 0 {
		fmt.Fprintf(p, `<path class="dots odd" d="%s"/>`, odd.String())
	}
	return p.end()
}
