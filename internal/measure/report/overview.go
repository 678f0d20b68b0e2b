package report

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/text/clean"
)

// overview prints the ratios of all places and workloads, in as many side-by-side tables as the width needs.
func (p *textPage) overview() {
	if len(p.r.Answers) == 0 || len(p.r.Workloads) == 0 {
		return
	}
	p.f("%s %s\n\n", p.paint(bold, "━━ at a glance"), p.paint(dim, wrap(p.r.legend(), p.width, 15)))
	where := column{left: true}
	all := column{head: "overall"}
	absolute := p.r.absolute()
	for _, a := range absolute {
		where.cells = append(where.cells, cut(clean.Line(a.Label), 40))
		all.cells = append(all.cells, "")
	}
	rows := p.r.withRatios()
	for _, a := range rows {
		where.cells = append(where.cells, cut(clean.Line(a.label()), 40))
		all.cells = append(all.cells, known(a.Overall, shortRatio))
	}
	all.style = func(int) style { return bold }
	where.style = func(row int) style {
		if row < len(absolute) {
			return dim
		}
		return none
	}
	group, width := []column{where, all}, where.width()+2+all.width()
	if len(p.r.Ranked) == 0 {
		group, width = []column{where}, where.width()
	}
	flush := func() {
		for _, line := range lines(group, p.paint) {
			p.f("   %s\n", line)
		}
		p.f("\n")
		group, width = []column{where}, where.width()
	}
	for i, w := range p.r.Workloads {
		c := column{head: cut(clean.Line(w.Name), 16), style: func(row int) style {
			if row < len(absolute) {
				return dim
			}
			return rows[row-len(absolute)].Ratios[i].style()
		}}
		for _, a := range absolute {
			c.cells = append(c.cells, a.Values[i])
		}
		for _, a := range rows {
			c.cells = append(c.cells, a.Ratios[i].short())
		}
		if width+2+c.width() > p.width-3 && len(group) > 1 {
			flush()
		}
		group, width = append(group, c), width+2+c.width()
	}
	flush()
}

// skipped reports whether nothing of a place was run. Its answer says why, and needs no row.
func (a Answer) skipped() bool {
	return !slices.ContainsFunc(a.Ratios, func(x Ratio) bool { return x.Kind != Skipped })
}

// legend explains the overview, or why it has no ratios.
func (r *Report) legend() string {
	if r.Against == "" {
		return clean.Line(r.AgainstWhy)
	}
	overall := ""
	if text := r.overallText(); text != "" {
		overall = "; " + text
	}
	if text := r.limitsCostText(); text != "" {
		overall += ". " + clean.Line(text)
	}
	return "ratio to " + clean.Line(r.againstText()) + ", about the median of the ratios within each block; " + r.signsText("") + overall
}

// signsText explains the signs of the overview, each between two of quote.
func (r *Report) signsText(quote string) string {
	text := fmt.Sprintf("%[1]s=%[1]s equivalent, %[1]s-%[1]s slower, %[1]s+%[1]s faster, %[1]s?%[1]s not proven", quote)
	var few []string
	for _, k := range []Kind{Equivalent, Slower, Faster} {
		if slices.ContainsFunc(r.withRatios(), func(a Answer) bool {
			return slices.ContainsFunc(a.Ratios, func(x Ratio) bool { return x.Kind == k && x.Tentative && x.Ratio.Known() })
		}) {
			few = append(few, quote+signs[k]+"?"+quote)
		}
	}
	if len(few) > 0 {
		text += " (" + strings.Join(few, " ") + " by too few blocks)"
	}
	return text + fmt.Sprintf(", %[1]s!%[1]s in doubt", quote)
}

func (x Ratio) style() style {
	if x.Doubt {
		return unsure
	}
	return styleOf(x.Kind)
}

// signs are the short forms of verdicts.
var signs = map[Kind]string{Slower: "-", Faster: "+", Equivalent: "=", Inconclusive: "?"}

// short is the text of a field of the overview: "0.53 -", "1.02 =!", "FAILED".
func (x Ratio) short() string {
	switch x.Kind {
	case Failed:
		return "FAILED"
	case Skipped:
		return "skipped"
	case Missing:
		return "no ratio"
	}
	if !x.Ratio.Known() {
		return ""
	}
	mark := x.sign()
	if x.Doubt {
		mark += "!"
	}
	return fmt.Sprintf("%s %-2s", shortRatio(x.Ratio), mark)
}

// sign is the verdict on a ratio as a sign, with a question mark if there are too few blocks to prove it.
func (x Ratio) sign() string {
	if x.Tentative && x.Kind != Inconclusive {
		return signs[x.Kind] + "?"
	}
	return signs[x.Kind]
}
