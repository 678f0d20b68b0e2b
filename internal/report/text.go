package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"plimsoll/internal/clean"
	"plimsoll/internal/record"
)

// Terminal is what a text report has to know of its writer.
type Terminal struct {
	// Width in columns; 0 means 100. It is taken as 80 at least and 160 at most.
	Width int
	// Colour turns colours on: set it only if the writer is a terminal and
	// NO_COLOR is unset (https://no-color.org).
	Colour bool
}

// Text prints reports for a terminal. What decides is at the top and at the
// bottom: the sentences first, then the tables, and the overview last, where the screen
// stands when the program ends.
type Text struct{ Terminal Terminal }

// textPage is one report being printed.
type textPage struct {
	printer
	r     *Report
	width int
	paint painter
}

// Render implements Renderer.
func (t Text) Render(w io.Writer, s Set) error {
	p := textPage{printer: printer{w: w}, width: t.Terminal.Width, paint: noPaint}
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
			p.f("\n%s\n\n", strings.Repeat("═", p.width))
		}
		p.r = r
		p.head()
		p.answers()
		p.remarks()
		for j := range r.Workloads {
			p.workload(&r.Workloads[j])
		}
		p.overview()
		p.foot()
	}
	return p.err
}

func (p *textPage) head() {
	run := p.r.Run
	p.f("%s%s\n", p.paint(bold, "plan "+clean.Line(run.Plan)), p.paint(dim, "  run "+clean.Line(run.ID)+whenText(run)))
	p.f("%s\n\n", p.paint(dim, wrap(clean.Line(machineText(run.Machine)), p.width, 0)))
}

// whenText says when a run was and how long it took, to follow its name.
func whenText(run record.Run) string {
	if run.Started.IsZero() {
		return ""
	}
	when := ", " + run.Started.Format("2 Jan 2006 15:04")
	if run.Ended.After(run.Started) {
		when += ", took " + run.Ended.Sub(run.Started).Round(time.Second).String()
	}
	return when
}

// machineText is the fingerprint of a machine in a line.
func machineText(m record.Machine) string {
	parts := []string{m.Hostname, strings.TrimSpace(m.OS + " " + m.Kernel + " " + m.Arch)}
	if m.CPUs > 0 {
		parts = append(parts, strings.TrimSpace(count(m.CPUs, "CPU")+" "+m.CPUModel))
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

func (p *textPage) answers() {
	p.f("%s\n", p.paint(bold, wrap(Question, p.width, 0)))
	if p.r.Against != "" {
		p.f("%s\n", p.paint(dim, wrap("Compared with "+clean.Line(p.r.Against)+" over "+count(len(p.r.Workloads), "workload")+", the cheapest place first.", p.width, 0)))
	}
	p.f("\n")
	left := 0
	for _, a := range p.r.Answers {
		left = max(left, utf8.RuneCountInString(clean.Line(a.Place)))
	}
	left = min(left, 30) + 4
	engine := ""
	for _, a := range p.r.Answers {
		if a.Engine != engine {
			engine = a.Engine
			if a.Place == "" {
				p.f("  %s  %s\n", p.paint(bold, clean.Line(engine)), wrap(clean.Line(a.Text), p.width, utf8.RuneCountInString(clean.Line(engine))+4))
				continue
			}
			p.f("  %s\n", p.paint(bold, clean.Line(engine)))
		}
		name := "    " + clean.Line(a.Place)
		pad := max(left-utf8.RuneCountInString(name), 0)
		text := wrap(clean.Line(a.Text), p.width, left+2)
		if a.Baseline {
			text = p.paint(dim, text)
		}
		p.f("%s%s  %s\n", name, strings.Repeat(" ", pad), text)
	}
	p.f("\n")
}

func (p *textPage) remarks() {
	for _, m := range p.r.Remarks {
		mark, st := "-", dim
		if m.Severity == record.Doubt {
			mark, st = "!", alarm
		}
		p.f("%s %s\n", p.paint(st, mark), p.paint(quieter(st), wrap(clean.Line(m.Text), p.width, 2)))
	}
}

// quieter is the style of the words behind a mark: doubts are yellow, notes dim.
func quieter(st style) style {
	if st == alarm {
		return unsure
	}
	return st
}

func (p *textPage) workload(w *Workload) {
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
		for _, line := range lines(fit(w.columns(), p.width-3), p.paint) {
			p.f("   %s\n", line)
		}
	}
	if thin := w.thin(); thin != "" {
		p.f("   %s\n", p.paint(dim, wrap(thin, p.width, 3)))
	}
	p.asides(w)
}

// thin says which percentiles have too few operations behind them.
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
		where = count(len(cells), "cell")
	}
	only := commas(strconv.FormatUint(least, 10))
	if most > least {
		only += " to " + commas(strconv.FormatUint(most, 10))
	}
	return fmt.Sprintf("p99.9 takes 10,000 I/Os and p99 1,000: n/a at %s (only %s I/Os)", where, only)
}

// asides prints what belongs to the numbers of a table: footnotes, failures,
// scaling and skipped cells.
func (p *textPage) asides(w *Workload) {
	for _, f := range w.Footnotes {
		st := dim
		if f.Severity == record.Doubt {
			st = unsure
		}
		p.f("   %s\n", p.paint(st, wrap(clean.Line(fmt.Sprintf("%s  %s: %s", f.Mark, f.Text, f.Where)), p.width, 3+len(f.Mark)+2)))
	}
	for i := range w.Cells {
		c := &w.Cells[i]
		if c.Scaling != "" {
			p.f("   %s\n", wrap(clean.Line(c.Label+": "+c.Scaling), p.width, 3))
		}
		for _, f := range c.Failures {
			p.f("   %s\n", p.paint(bad, wrap(clean.Line(c.Label+" "+f.text()), p.width, 3)))
			if f.Log != "" {
				for _, line := range lastLines(clean.Text(f.Log), 5) {
					p.f("   %s\n", p.paint(dim, "  | "+clean.Line(line)))
				}
			}
		}
	}
	for _, s := range skipsByReason(w.Skipped) {
		if s.Everywhere {
			continue
		}
		p.f("   %s\n", p.paint(dim, wrap(clean.Line("skipped "+s.Label+": "+s.Reason), p.width, 3)))
	}
}

// text is the sentence on a failure.
func (f Failure) text() string {
	s := "FAILED in " + count(f.Trials, "trial")
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

// skipsByReason puts cells that were skipped for the same reason together.
func skipsByReason(all []Skip) []Skip {
	var out []Skip
next:
	for _, s := range all {
		for i := range out {
			if out[i].Reason == s.Reason && out[i].Everywhere == s.Everywhere {
				out[i].Label += ", " + s.Label
				continue next
			}
		}
		out = append(out, s)
	}
	return out
}

func (p *textPage) foot() {
	doubts := 0
	for _, w := range p.r.Workloads {
		for _, c := range w.Cells {
			doubts += bit(c.Doubt)
		}
	}
	if doubts > 0 {
		p.f("%s\n", p.paint(unsure, "! "+wrap(count(doubts, "number")+" in doubt: the number doesn't show what it seems to, see the marks above", p.width, 2)))
	}
	if p.r.Run.Command != "" {
		p.f("%s %s\n", p.paint(dim, "Repeat:"), clean.Line(p.r.Run.Command))
	}
}

// lastLines keeps the end of a log.
func lastLines(s string, n int) []string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return lines
}
