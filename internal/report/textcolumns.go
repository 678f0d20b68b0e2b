package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/clean"
)

// columns lays out a workload's table. The drop values say what goes first on a
// narrow terminal: never the value, the ratio and the verdict.
func (w *Workload) columns() []column {
	u := rateUnit(w.Metric, w.Cells)
	var (
		place    = column{head: "where", left: true}
		value    = column{head: w.valueHead(u)}
		spread   = column{head: w.spreadHead(), drop: 6}
		n        = column{head: "n", drop: 5}
		ratio    = column{head: "ratio"}
		ratioCI  = column{head: "95 % interval", drop: 1}
		verdict  = column{head: "verdict", left: true}
		marks    = column{head: "", left: true}
		p        = column{head: "p", drop: 9}
		p50      = column{head: "p50", drop: 4}
		p99      = column{head: "p99", drop: 3}
		p999     = column{head: "p99.9", drop: 7}
		cpu      = column{head: "CPU/op", drop: 8}
		disk     = column{head: "to disk", drop: 2}
		kinds    []style
		doubtful []bool
	)
	for i := range w.Cells {
		c := &w.Cells[i]
		l := c.of(w.Class)
		kinds = append(kinds, styleOf(c.Kind))
		doubtful = append(doubtful, c.Doubt)
		put := func(col *column, s string) { col.cells = append(col.cells, s) }
		put(&place, cut(clean.Line(c.Label), 40))
		put(&marks, w.markText(c))
		put(&verdict, clean.Line(c.short()))
		put(&n, fmt.Sprint(c.N))
		if c.N == 0 {
			for _, col := range []*column{&value, &spread, &ratio, &ratioCI, &p, &p50, &p99, &p999, &cpu, &disk} {
				put(col, "")
			}
			continue
		}
		put(&value, u.format(c.Median))
		put(&spread, u.format(c.Low)+" - "+u.format(c.High))
		put(&cpu, known(c.CPUPerOp, durationText))
		put(&disk, c.Disk.String())
		put(&p50, known(l.p50(), durationText))
		put(&p99, known(l.p99(), durationText))
		put(&p999, known(l.p999(), durationText))
		if c.Compared == nil {
			put(&ratio, "")
			put(&ratioCI, "")
			put(&p, "")
			continue
		}
		put(&ratio, ratioText(c.Compared.Ratio))
		put(&ratioCI, known(c.Compared.Low, ratioText)+" - "+known(c.Compared.High, ratioText))
		put(&p, known(c.Compared.P, pText))
	}
	byKind := func(row int) style { return kinds[row] }
	ratio.style, verdict.style = byKind, byKind
	value.style = func(row int) style {
		if doubtful[row] {
			return unsure
		}
		return bold
	}
	marks.style = func(row int) style {
		if doubtful[row] {
			return alarm
		}
		return unsure
	}
	quiet := func(int) style { return dim }
	spread.style, ratioCI.style, n.style, p.style = quiet, quiet, quiet, quiet
	return []column{place, value, marks, spread, n, ratio, ratioCI, verdict, p, p50, p99, p999, cpu, disk}
}

// The percentiles of a class that a cell may not have.
func (l *Latency) p50() Num  { return l.at(func(l *Latency) Num { return l.P50 }) }
func (l *Latency) p99() Num  { return l.at(func(l *Latency) Num { return l.P99 }) }
func (l *Latency) p999() Num { return l.at(func(l *Latency) Num { return l.P999 }) }

func (l *Latency) at(get func(*Latency) Num) Num {
	if l == nil {
		return Unknown
	}
	return get(l)
}

// valueHead names the metric with its unit: "k IOPS", "MiB/s", "commits/s".
func (w *Workload) valueHead(u unit) string {
	if w.Metric.Unit == "B/s" {
		return u.name
	}
	prefix := strings.TrimSuffix(u.name, "/s")
	name := w.Metric.Name
	if name != "IOPS" {
		name += "/s"
	}
	return strings.TrimSpace(prefix + " " + name)
}

// spreadHead says what the columns of low and high are.
func (w *Workload) spreadHead() string {
	head := ""
	for _, c := range w.Cells {
		switch {
		case c.Interval == "" || c.Interval == head:
		case head == "":
			head = c.Interval
		default:
			return "interval or range"
		}
	}
	return head
}

// markText lists the marks of a cell's footnotes, doubts first: "!1 3".
func (w *Workload) markText(c *Cell) string {
	var out []string
	for _, m := range c.Marks {
		out = append(out, w.Footnotes[m-1].Mark)
	}
	return strings.Join(out, " ")
}

func known(n Num, format func(Num) string) string {
	if !n.Known() {
		return "n/a"
	}
	return format(n)
}

func pText(n Num) string {
	if n < 0.001 {
		return "<0.001"
	}
	return fmt.Sprintf("%.3f", float64(n))
}

// cut shortens s to n runes.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// overview prints the ratios of all places and workloads, in as many tables side by side
// as the width asks for.
func (p *textPage) overview() {
	if len(p.r.Answers) == 0 || len(p.r.Workloads) == 0 {
		return
	}
	p.f("\n%s %s\n\n", p.paint(bold, "━━ at a glance"),
		p.paint(dim, wrap("ratio to "+clean.Line(p.r.Against)+", the middle of those within each block; = equivalent, - slower, + faster, ? not proven, ! in doubt", p.width, 15)))
	where := column{left: true}
	all := column{head: "overall"}
	for _, a := range p.r.Answers {
		where.cells = append(where.cells, cut(clean.Line(strings.TrimSpace(a.Engine+" "+a.Place)), 40))
		all.cells = append(all.cells, known(a.Overall, shortRatio))
	}
	all.style = func(int) style { return bold }
	group, wide := []column{where, all}, where.width()+2+all.width()
	flush := func() {
		for _, line := range lines(group, p.paint) {
			p.f("   %s\n", line)
		}
		p.f("\n")
		group, wide = []column{where}, where.width()
	}
	for i, w := range p.r.Workloads {
		c := column{head: cut(clean.Line(w.Name), 16), style: func(row int) style { return p.r.Answers[row].Ratios[i].style() }}
		for _, a := range p.r.Answers {
			c.cells = append(c.cells, a.Ratios[i].short())
		}
		if wide+2+c.width() > p.width-3 && len(group) > 1 {
			flush()
		}
		group, wide = append(group, c), wide+2+c.width()
	}
	flush()
}

func (x Ratio) style() style {
	if x.Doubt {
		return unsure
	}
	return styleOf(x.Kind)
}

// signs are the short forms of verdicts.
var signs = map[Kind]string{Slower: "-", Faster: "+", Equivalent: "=", Inconclusive: "?"}

// short is the field of the overview: "0.53 -", "1.02 =!", "FAILED".
func (x Ratio) short() string {
	switch x.Kind {
	case Failed:
		return "FAILED"
	case Skipped:
		return "skipped"
	case Base:
		return "1.00   "
	}
	if !x.Ratio.Known() {
		return ""
	}
	mark := signs[x.Kind]
	if x.Tentative && x.Kind != Inconclusive {
		mark += "?"
	}
	if x.Doubt {
		mark += "!"
	}
	return fmt.Sprintf("%s %-2s", shortRatio(x.Ratio), mark)
}
