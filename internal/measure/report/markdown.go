package report

import (
	"fmt"
	"html"
	"io"
	"strings"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/clean"
)

// Markdown prints GitHub's tables, for issues and pull requests.
type Markdown struct{}

// Render implements Renderer.
func (Markdown) Render(w io.Writer, s Set) error {
	p := &printer{w: w}
	if s.Note != "" {
		p.f("> %s\n\n", md(s.Note))
	}
	for i, r := range s.Reports {
		if i > 0 {
			p.f("\n---\n\n")
		}
		mdReport(p, r)
	}
	return p.err
}

func mdReport(p *printer, r *Report) {
	p.f("# %s: %s\n\n", md(r.Run.Plan), md(r.Run.ID))
	p.f("**%s**\n\n", md(r.Question))
	mdBrief(p, r.Brief)
	mdNext(p, r.Next)
	doubts, notes := r.doubtsAndNotes()
	if len(doubts) > 0 {
		p.f("\n")
		mdCaveats(p, doubts, "")
	}
	mdFold(p, "Notes", func() { mdCaveats(p, notes, "") })
	p.f("\n## Place by place\n")
	mdFold(p, "What each place costs over all workloads", func() { mdPlaces(p, r) })
	mdOverview(p, r)
	mdSheets(p, r)
	for i := range r.Workloads {
		w := &r.Workloads[i]
		p.f("\n## %s\n", md(w.Name))
		mdFold(p, w.What, func() { mdWorkload(p, w) })
	}
	p.f("\n## Machine\n\n%s\n", md(machineText(r.Run.Machine)))
	if r.Run.Command != "" {
		p.f("\nRepeat with:\n\n%s\n", mdCode(r.Run.Command))
	}
}

// mdBrief prints the short answer.
func mdBrief(p *printer, points []Point) {
	for _, x := range points {
		p.f("- **%s**:", md(x.Head))
		if x.Text != "" {
			p.f(" %s", md(x.Text))
		}
		p.f("\n")
		for _, text := range x.Items {
			p.f("  - %s\n", md(text))
		}
	}
}

// mdNext prints what would settle the open cells.
func mdNext(p *printer, n *Next) {
	switch {
	case n == nil:
	case n.Command == "":
		p.f("\nNext: %s.\n", md(n.why()))
	default:
		p.f("\nNext (%s):\n\n%s\n", md(n.why()), mdCode(n.Command))
	}
}

// mdPlaces prints what each place costs over all workloads.
func mdPlaces(p *printer, r *Report) {
	if r.Against != "" {
		p.f("%s\n\n", md(r.comparedText()))
	} else {
		p.f("⚠ There are %s.\n\n", md(r.AgainstWhy))
	}
	for _, g := range r.Places {
		p.f("- **%s**: %s\n", md(g.Name), md(g.Text))
	}
}

// mdFold prints a part that stays folded until a reader opens it. The summary is HTML, in which no markdown counts.
func mdFold(p *printer, summary string, body func()) {
	p.f("\n<details><summary>%s</summary>\n\n", html.EscapeString(clean.Line(summary)))
	body()
	p.f("\n</details>\n")
}

// mdCaveats prints doubts and notes as a list.
func mdCaveats(p *printer, all []caveat, indent string) {
	for _, c := range all {
		p.f("%s- %s%s\n", indent, mdAlarm(c.Severity), md(c.Text))
		mdCaveats(p, c.Why, indent+"  ")
	}
}

func mdAlarm(severity string) string {
	if severity == record.Doubt {
		return "⚠ "
	}
	return ""
}

func mdOverview(p *printer, r *Report) {
	if len(r.Answers) == 0 {
		return
	}
	head := []string{"where", "overall"}
	ranked := len(r.Ranked) > 0
	if !ranked {
		head = head[:1]
	}
	for _, w := range r.Workloads {
		head = append(head, w.Name)
	}
	var rows [][]string
	for _, a := range r.absolute() {
		row := []string{a.Label, ""}
		if !ranked {
			row = row[:1]
		}
		rows = append(rows, append(row, a.Values...))
	}
	for _, a := range r.withRatios() {
		row := []string{a.label(), known(a.Overall, shortRatio)}
		if !ranked {
			row = row[:1]
		}
		for _, x := range a.Ratios {
			row = append(row, strings.TrimSpace(x.short()))
		}
		rows = append(rows, row)
	}
	legend := "Ratio to " + md(r.againstText()) + "; " + r.signsText("`")
	if text := r.overallText(); text != "" {
		legend += "; " + md(text)
	}
	if text := r.limitsCostText(); text != "" {
		legend += ". " + md(strings.TrimSuffix(text, "."))
	}
	if r.Against == "" {
		legend = "There are " + md(r.AgainstWhy)
	}
	p.f("\n## At a glance\n")
	mdFold(p, "The ratios of all places", func() {
		p.f("%s.\n\n", legend)
		mdTable(p, head, rows)
	})
}

func mdWorkload(p *printer, w *Workload) {
	if w.IOEngine != "" {
		p.f("I/O engine %s: %s.\n", md(w.IOEngine), md(w.Why))
	}
	if w.BaselineWhy != "" {
		p.f("⚠ %s.\n", md(w.BaselineWhy))
	}
	if w.Noise != nil {
		p.f("%s.\n", md(w.Noise.Text))
	}
	if columns := fit(w.columns(tableStyle{all: true}), 1<<30); len(w.Cells) > 0 {
		var head []string
		rows := make([][]string, len(w.Cells))
		for _, c := range columns {
			head = append(head, c.head)
			for i := range rows {
				rows[i] = append(rows[i], c.cells[i])
			}
		}
		p.f("\n")
		mdTable(p, head, rows)
	}
	mdAsides(p, w)
}

func mdAsides(p *printer, w *Workload) {
	var items []string
	for _, f := range w.Footnotes {
		items = append(items, fmt.Sprintf("%s**%s** %s: %s", mdAlarm(f.Severity), md(f.Mark), md(f.Text), md(f.Where)))
	}
	for i := range w.Cells {
		if text := w.Cells[i].outlierText(); text != "" {
			items = append(items, md(text))
		}
	}
	for _, c := range w.Cells {
		for _, text := range c.paceText(w.Class) {
			items = append(items, md(text))
		}
		if c.Scaling != "" {
			items = append(items, md(c.Label+": "+c.Scaling))
		}
		for _, f := range c.Failures {
			items = append(items, "⚠ "+md(c.Label+" "+f.text()))
		}
	}
	if text := w.limitsCostText(); text != "" {
		items = append(items, md(text))
	}
	if thin := w.thin(); thin != "" {
		items = append(items, md(thin))
	}
	for _, s := range skipsByReason(w.Skipped) {
		if s.Everywhere {
			continue
		}
		items = append(items, md("skipped "+s.Label+": "+s.Reason))
	}
	if len(items) > 0 {
		p.f("\n- %s\n", strings.Join(items, "\n- "))
	}
}

func mdTable(p *printer, head []string, rows [][]string) {
	line := func(cells []string) {
		escaped := make([]string, len(cells))
		for i, c := range cells {
			escaped[i] = md(c)
		}
		p.f("| %s |\n", strings.Join(escaped, " | "))
	}
	line(head)
	p.f("|%s\n", strings.Repeat(" --- |", len(head)))
	for _, row := range rows {
		line(row)
	}
}

// mdSpecial escapes markup. HTML is escaped as entities, so that no renderer sees a tag.
var mdSpecial = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`,
	"&", "&amp;", "<", "&lt;", ">", "&gt;",
)

// md escapes text for a line or a table of markdown.
func md(s string) string { return mdSpecial.Replace(clean.Line(s)) }

// mdCode prints text in a fence that the text can't close.
func mdCode(s string) string {
	s = clean.Text(s)
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimRight(s, "\n") + "\n" + fence
}
