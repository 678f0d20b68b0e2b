package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/size"
)

// Terminal describes the reader's terminal and what it asked for.
type Terminal struct {
	// Width is the number of columns. 0 means 100; less than 80 is taken as 80, more than 160 as 160.
	Width int
	// Colour turns colours on. Set it only if the writer is a terminal and NO_COLOR is unset (https://no-color.org).
	Colour bool
	// Full prints the tables of all workloads, each with all its warnings, and what each place costs over all of them.
	// Without it each warning stands once for the whole run, and the tables are left out if there are too few blocks for their intervals to mean anything.
	Full bool
	// Interrupted is set when the reader has just interrupted the run: the report is a short summary of what was measured.
	Interrupted bool
	// More lists where to find the rest, as pairs of a word and a path or command. It is printed last.
	More [][2]string
}

// Text prints reports for a terminal. The end of the output stays on the screen, so the short answer comes last, after each
// kind of doubt once, the overview, and the tables of the workloads.
type Text struct{ Terminal Terminal }

// textPage is one report being printed.
type textPage struct {
	printer
	r     *Report
	width int
	paint painter
	full  bool
	// tables is set when the workloads' tables are printed.
	tables bool
}

// Render implements Renderer.
func (t Text) Render(w io.Writer, s Set) error {
	p := textPage{printer: printer{w: w}, width: t.Terminal.Width, paint: noPaint, full: t.Terminal.Full}
	if p.width == 0 {
		p.width = 100
	}
	p.width = min(max(p.width, 80), 160)
	if t.Terminal.Colour {
		p.paint = ansi
	}
	if s.Note != "" {
		p.f("%s\n\n", p.paint(bold, wrap(s.Note, p.width, 0)))
	}
	for i, r := range s.Reports {
		if i > 0 {
			p.f("%s\n\n", strings.Repeat("═", p.width))
		}
		p.r = r
		p.head()
		if t.Terminal.Interrupted {
			p.soFar()
			continue
		}
		p.tables = p.full || !r.Run.Quick && r.Run.Status == record.Done
		if p.tables {
			tables := r.fitted(p.width-3, !p.full)
			for j := range r.Workloads {
				p.workload(&r.Workloads[j], tables[j])
			}
		}
		p.f("\n")
		if p.full {
			p.places()
		}
		p.overview()
		p.sheets()
		p.caveats(p.r.caveats(), 0)
		p.brief()
		p.foot()
	}
	p.more(t.Terminal.More)
	return p.err
}

// soFar summarizes what an interrupted run measured.
func (p *textPage) soFar() {
	p.f("\n")
	p.overview()
	doubts, _ := p.r.doubtsAndNotes()
	p.caveats(doubts, 0)
}

// more says where to find the rest.
func (p *textPage) more(where [][2]string) {
	width := 0
	for _, m := range where {
		width = max(width, utf8.RuneCountInString(m[0]))
	}
	for _, m := range where {
		p.f("%s %s\n", p.paint(dim, m[0]+strings.Repeat(" ", width-utf8.RuneCountInString(m[0]))), clean.Line(m[1]))
	}
}

func (p *textPage) head() {
	run := p.r.Run
	p.f("%s%s\n", p.paint(bold, "plan "+clean.Line(run.Plan)), p.paint(dim, "  run "+clean.Line(run.ID)+whenText(run)))
	p.f("%s\n", p.paint(dim, wrap(clean.Line(machineText(run.Machine)), p.width, 0)))
}

// whenText says when a run was and how long it took, to follow its name.
func whenText(run record.Run) string {
	if run.Started.IsZero() {
		return ""
	}
	when := ", " + run.Started.Format("2 Jan 2006 15:04")
	if took := run.Took(); took > 0 {
		when += ", took " + size.Duration(took)
	}
	return when
}

// machineText is the fingerprint of a machine in one line.
func machineText(m record.Machine) string {
	parts := []string{m.Hostname, strings.TrimSpace(m.OS + " " + m.Kernel + " " + m.Arch)}
	if m.CPUs > 0 {
		parts = append(parts, strings.TrimSpace(size.Plural(m.CPUs, "CPU")+" "+m.CPUModel))
	}
	if m.Memory > 0 {
		parts = append(parts, fmt.Sprintf("%.1f GiB memory", float64(m.Memory)/(1<<30)))
	}
	if m.Virtual != "" {
		parts = append(parts, "virtual ("+m.Virtual+")")
	}
	if m.Cgroup != "" {
		parts = append(parts, "cgroup "+m.Cgroup)
	}
	if m.Clock != "" {
		parts = append(parts, "clock "+m.Clock)
	}
	out := parts[:0]
	for _, s := range parts {
		if s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, ", ")
}

// brief prints the short answer below the question.
func (p *textPage) brief() {
	p.f("\n%s %s\n\n", p.paint(bold, "━━ the answer"), p.paint(bold, wrap(clean.Line(p.r.Question), p.width, 14)))
	left := 0
	for _, x := range p.r.Brief {
		left = max(left, utf8.RuneCountInString(x.Head))
	}
	left += 5
	for _, x := range p.r.Brief {
		p.f("   %s%s", p.paint(bold, x.Head), strings.Repeat(" ", left-3-utf8.RuneCountInString(x.Head)))
		if x.Text != "" {
			colon := ""
			if len(x.Items) > 0 {
				colon = ":"
			}
			p.f("%s\n", wrap(clean.Line(x.Text)+colon, p.width, left))
		}
		for i, text := range x.Items {
			if i > 0 || x.Text != "" {
				p.f("%s", strings.Repeat(" ", left))
			}
			p.f("%s\n", wrap(clean.Line(text), p.width, left+2))
		}
	}
}

// places prints what each place costs over all workloads.
func (p *textPage) places() {
	text := p.r.comparedText()
	if p.r.Against == "" {
		text = "There are " + p.r.AgainstWhy + "."
	}
	p.f("%s %s\n", p.paint(bold, "━━ place by place"), p.paint(dim, wrap(clean.Line(text), p.width, 18)))
	for _, g := range p.r.Places {
		p.f("\n   %s\n      %s\n", p.paint(bold, wrap(clean.Line(g.Name), p.width, 3)), wrap(clean.Line(g.Text), p.width, 6))
	}
	p.f("\n")
}

// caveats prints the doubts and the notes, with the marks that the tables of a short text refer to.
func (p *textPage) caveats(all []caveat, indent int) {
	for _, c := range all {
		mark, st, words := "-", dim, dim
		if c.Severity == record.Doubt {
			mark, st, words = "!", alarm, unsure
		}
		if c.Mark != "" && c.Severity == record.Doubt && p.tables && !p.full {
			mark, st = c.Mark, unsure
		}
		left := indent + utf8.RuneCountInString(mark) + 1
		p.f("%s%s %s\n", strings.Repeat(" ", indent), p.paint(st, mark), p.paint(words, wrap(clean.Line(c.Text), p.width, left)))
		p.caveats(c.Why, indent+2)
	}
}

func (p *textPage) workload(w *Workload, table []column) {
	name := clean.Line(w.Name)
	p.f("\n%s %s\n", p.paint(bold, "━━ "+name), p.paint(dim, wrap(clean.Line(w.What), p.width, utf8.RuneCountInString(name)+4)))
	if w.IOEngine != "" {
		p.f("%s\n", p.paint(dim, "   "+wrap(clean.Line("I/O engine "+w.IOEngine+": "+w.Why), p.width, 3)))
	}
	if w.BaselineWhy != "" {
		p.f("   %s\n", p.paint(alarm, wrap(clean.Line(w.BaselineWhy), p.width, 3)))
	}
	if w.Noise != nil {
		st := dim
		if w.Noise.Loud {
			st = unsure
		}
		p.f("   %s\n", p.paint(st, wrap(w.Noise.Text, p.width, 3)))
	}
	if len(w.Cells) > 0 {
		p.f("\n")
		for _, line := range lines(table, p.paint) {
			p.f("   %s\n", line)
		}
	}
	if thin := w.thin(); thin != "" && p.full {
		p.f("   %s\n", p.paint(dim, wrap(thin, p.width, 3)))
	}
	if text := w.limitsCostText(); text != "" {
		p.f("   %s\n", p.paint(dim, wrap(clean.Line(text), p.width, 3)))
	}
	p.asides(w)
}

// thin says which percentiles have too few operations.
func (w *Workload) thin() string {
	var cells []string
	least, most := uint64(math.MaxUint64), uint64(0)
	for i := range w.Cells {
		if l := w.Cells[i].of(w.Class); l != nil && !l.P999.Known() {
			least, most = min(least, l.Ops), max(most, l.Ops)
			cells = append(cells, clean.Line(w.Cells[i].Label))
		}
	}
	if len(cells) == 0 {
		return ""
	}
	where := strings.Join(cells, ", ")
	if len(cells) > 3 {
		where = size.Plural(len(cells), "cell")
	}
	only := commas(strconv.FormatUint(least, 10))
	if most > least {
		only += " to " + commas(strconv.FormatUint(most, 10))
	}
	return fmt.Sprintf("p99.9 needs 10,000 I/Os and p99 1,000: n/a at %s (only %s I/Os)", where, only)
}

// asides prints the footnotes, failures, scaling and skipped cells below a table.
func (p *textPage) asides(w *Workload) {
	for _, f := range w.Footnotes {
		if !p.full {
			break // caveats prints them once for all workloads.
		}
		st := dim
		if f.Severity == record.Doubt {
			st = unsure
		}
		p.f("   %s\n", p.paint(st, wrap(clean.Line(fmt.Sprintf("%s  %s: %s", f.Mark, f.Text, f.Where)), p.width, 3+len(f.Mark)+2)))
	}
	for i := range w.Cells {
		c := &w.Cells[i]
		if text := c.outlierText(); text != "" && p.full {
			p.f("   %s\n", p.paint(dim, wrap(clean.Line(text), p.width, 3)))
		}
		for _, text := range c.paceText(w.Class) {
			p.f("   %s\n", wrap(clean.Line(text), p.width, 3))
		}
		if c.Scaling != "" {
			p.f("   %s\n", wrap(clean.Line(c.Label+": "+c.Scaling), p.width, 3))
		}
		for _, f := range c.Failures {
			if !p.full {
				break
			}
			p.f("   %s\n", p.paint(bad, wrap(clean.Line(c.Label+" "+f.text()), p.width, 3)))
			if f.Log != "" {
				for _, line := range lastLines(clean.Text(f.Log), 5) {
					p.f("   %s\n", p.paint(dim, "  | "+clean.Line(line)))
				}
			}
		}
	}
	for _, s := range skipsByReason(w.Skipped) {
		if s.Everywhere || !p.full { // caveats has them.
			continue
		}
		p.f("   %s\n", p.paint(dim, wrap(clean.Line("skipped "+s.Label+": "+s.Reason), p.width, 3)))
	}
}

// text describes a failure.
func (f Failure) text() string {
	s := "FAILED in " + size.Plural(f.Trials, "trial")
	if f.Phase != "" {
		s += " at " + f.Phase
	}
	if f.Error != "" {
		s += ": " + f.Error
	}
	if f.Progress != "" {
		s += " (got as far as: " + f.Progress + ")"
	}
	return s
}

func (p *textPage) foot() {
	p.f("\n")
	p.next()
	if p.r.Run.Command != "" {
		p.f("%s %s\n", p.paint(dim, "Repeat:"), clean.Line(p.r.Run.Command))
	}
}

// next prints what would settle the open cells.
func (p *textPage) next() {
	n := p.r.Next
	if n == nil {
		return
	}
	head := p.paint(dim, "Next:  ")
	if n.Command == "" {
		p.f("%s %s\n", head, wrap(n.why(), p.width, 8))
		return
	}
	p.f("%s %s\n        %s\n", head, clean.Line(n.Command), p.paint(dim, wrap(n.why(), p.width, 8)))
}
