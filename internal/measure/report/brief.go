package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/size"
)

// A Point is one part of the short answer: what a reader must know who reads no further. It claims no more than the
// verdicts of the cells.
type Point struct {
	// Head says what the point is about: "Avoid".
	Head string `json:"head"`
	// Text is a sentence without a full stop, which Items may continue, one a line.
	Text  string   `json:"text,omitempty"`
	Items []string `json:"items,omitempty"`
}

// mostItems is how many items a point has. The tables have the others.
const mostItems = 8

// brief makes the short answer.
func (r *Report) brief() {
	scenes := r.scenes()
	for _, p := range []Point{
		r.bestPoint(scenes), r.measuredPoint(), r.avoidPoint(scenes), r.unsafePoint(), r.limitsPoint(),
		{Head: "Neighbours", Text: clause(r.interferenceText())}, r.unknownPoint(), r.memoryPoint(),
	} {
		if p.Text == "" && len(p.Items) == 0 {
			continue
		}
		if p.Text == "" && len(p.Items) == 1 {
			p.Text, p.Items = p.Items[0], nil
		}
		if n := len(p.Items) - mostItems; n > 0 {
			p.Items = append(p.Items[:mostItems:mostItems], fmt.Sprintf("and %d more: see the tables", n))
		}
		r.Brief = append(r.Brief, p)
	}
	if len(r.Brief) == 0 {
		why := r.AgainstWhy
		if why == "" {
			why = "nothing was compared with " + r.Against
		}
		r.Brief = []Point{{Head: "Not known", Text: why}}
	}
}

// clause makes a sentence a part of a point, which has no capital and no full stop.
func clause(sentence string) string {
	if sentence == "" {
		return ""
	}
	return strings.ToLower(sentence[:1]) + strings.TrimSuffix(sentence[1:], ".")
}

// bestPoint names the best place for each workload. With too few blocks there is none, and unknownPoint says so.
func (r *Report) bestPoint(scenes []*scene) Point {
	lines := r.bestLines(scenes)
	if len(lines) == 0 || r.tentative() {
		return Point{}
	}
	base := r.againstText()
	if base == "host dir" {
		base += ", a plain folder"
	}
	text := fmt.Sprintf("compared with %s, as far as %d blocks prove it", base, r.Run.Blocks)
	if slices.ContainsFunc(r.Answers, func(a Answer) bool { return len(a.Unfit) > 0 }) {
		text += ", and where it is safe"
	}
	return Point{Head: "Best place", Text: text, Items: lines}
}

// measuredPoint has the figures of the places, for want of a baseline to compare them with.
func (r *Report) measuredPoint() Point {
	if r.Against != "" || len(r.Workloads) != 1 {
		return Point{}
	}
	p := Point{Head: "Measured"}
	for i := range r.Answers {
		if a := &r.Answers[i]; !a.skipped() {
			if figures := a.figures(&r.Workloads[0]); figures != "" {
				if a.On != "" {
					figures += "; " + a.On
				}
				p.Items = append(p.Items, a.label()+": "+figures)
			}
		}
	}
	return p
}

// avoidPoint names the places that are slower.
func (r *Report) avoidPoint(scenes []*scene) Point {
	p := Point{Head: "Avoid"}
	for _, l := range r.losses(scenes) {
		p.Items = append(p.Items, l.text())
	}
	p.Items = append(p.Items, r.stallLosses()...)
	return p
}

// unsafePoint says which places may lose or damage data, or that a check found none.
func (r *Report) unsafePoint() Point {
	p := Point{Head: "Unsafe"}
	at := map[string][]string{}
	var order []string
	for i := range r.Answers {
		a := &r.Answers[i]
		var why []string
		if len(a.Unsafe) > 0 {
			why = append(why, "a power cut may lose synced data at "+rankedNames(a.Unsafe))
		}
		if text := unfitText(a.Unfit); text != "" {
			why = append(why, text)
		}
		if text := strings.Join(why, "; "); text != "" {
			if at[text] == nil {
				order = append(order, text)
			}
			at[text] = append(at[text], a.label())
		}
	}
	for _, text := range order {
		p.Items = append(p.Items, listed(at[text])+": "+text)
	}
	if names, all := r.fitNames(); len(p.Items) == 0 && all && len(names) > 0 {
		return Point{Head: "Safe", Text: "all places on disks, by plimsoll check, for " + strings.Join(names, "; ")}
	}
	return p
}

// limitsPoint says whether limits held, and what they cost.
func (r *Report) limitsPoint() Point {
	p := Point{Head: "Limits"}
	if text := clause(r.limitsText()); text != "" {
		p.Items = append(p.Items, text)
	}
	var order []string
	cost := map[string]span{}
	for _, w := range r.Workloads {
		for i := range w.Cells {
			c := &w.Cells[i]
			if !c.costsLimits() || !c.proven() || c.Kind != Slower {
				continue
			}
			own := span{c.Compared.Low, c.Compared.High}
			if was, ok := cost[c.Limits]; ok {
				own = own.with(was)
			} else {
				order = append(order, c.Limits)
			}
			cost[c.Limits] = own
		}
	}
	if len(order) > 0 {
		var parts []string
		for _, name := range order {
			parts = append(parts, cost[name].text()+" under "+name)
		}
		p.Items = append(p.Items, "their cost, against "+r.Against+" without limits: "+strings.Join(parts, ", "))
	}
	if lacking := r.lackingLimits(); len(lacking) > 0 {
		p.Items = append(p.Items, "places under "+listed(lacking)+" are not compared with each other: "+r.Against+" has no figures there")
	}
	return p
}

// unknownPoint says what the run can't tell, and why.
func (r *Report) unknownPoint() Point {
	p := Point{Head: "Not known"}
	of, open := r.Unsettled()
	blocks := size.Plural(r.Run.Blocks, "block")
	switch fine := r.resolution(); {
	case r.Against == "" && len(r.Run.Baseline) > 0:
		p.Items = append(p.Items, "how places compare: "+r.AgainstWhy)
	case of == 0:
	case r.tentative():
		p.Items = append(p.Items, fmt.Sprintf("all of it: %s can't prove a difference, %d or more can", blocks, leastBlocks))
	case len(open) > 0:
		text := fmt.Sprintf("whether there is a difference in %d of %s", len(open), size.Plural(of, "comparison"))
		if fine != "" {
			text += ": this machine was too noisy to see less than " + fine
		}
		p.Items = append(p.Items, text)
	}
	if n, of := r.inDoubt(); n > 0 {
		p.Items = append(p.Items, fmt.Sprintf("%d of %s %s in doubt (!): the list of doubts has the reasons", n, size.Plural(of, "figure"), plural(n, "is", "are")))
	}
	if n, of := failedCells(r); n > 0 {
		p.Items = append(p.Items, fmt.Sprintf("%d of %s had failed trials", n, size.Plural(of, "cell")))
	}
	if r.Run.Status != record.Done {
		p.Items = append(p.Items, "the run is not complete")
	}
	return p
}

// tentative reports whether there are too few blocks to prove anything.
func (r *Report) tentative() bool {
	return r.hasCell(func(c *Cell) bool { return c.Compared != nil }) &&
		!r.hasCell(func(c *Cell) bool { return c.Compared != nil && !c.Compared.Tentative })
}

// memoryPoint says which places are memory.
func (r *Report) memoryPoint() Point {
	var order []string
	at := map[string][]string{}
	for i := range r.Answers {
		a := &r.Answers[i]
		if !a.Memory {
			continue
		}
		// Every engine's tmpfs is the same thing; other places that are memory are named with their engines.
		why, name := "its data is gone with the container", "tmpfs"
		if place, _, _ := strings.Cut(a.Place, ", "); a.memoryWhy != "" || place != name {
			why, name = cmp.Or(a.memoryWhy, why), a.Engine+" "+place
		}
		if !slices.Contains(at[why], name) {
			if at[why] == nil {
				order = append(order, why)
			}
			at[why] = append(at[why], name)
		}
	}
	p := Point{Head: "Memory"}
	for _, why := range order {
		p.Items = append(p.Items, listed(at[why])+plural(len(at[why]), " is", " are")+" no place for data that must stay: "+why)
	}
	return p
}
