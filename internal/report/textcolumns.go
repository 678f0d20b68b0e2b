package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/clean"
	"plimsoll/internal/stats"
)

// Heads of the columns that a verdict is held against.
const (
	headInterval = "95 % interval"
	headP        = "p"
	headDisk     = "to disk"
	headP99      = "p99"
)

// A tableStyle says how a workload's table is worded.
type tableStyle struct {
	// narrow takes the shortest words for everything, to make room for columns.
	narrow bool
	// merged marks cells with the doubts of the whole run and not with the footnotes of the
	// workload.
	merged bool
	// all shows how many trials there were even where all cells have as many, and the whole labels.
	all bool
}

// fitted lays the tables of all workloads out for a width, with the same columns in all of them:
// a column that comes and goes from table to table is looked for in vain. What a verdict rests on, the
// ratio with its interval, the bytes that reached the device, and the p99 are worth shorter words.
func (r *Report) fitted(width int, merged bool) [][]column {
	wide, all := r.fit(width, tableStyle{merged: merged})
	if all {
		return wide
	}
	narrow, _ := r.fit(width, tableStyle{narrow: true, merged: merged})
	return narrow
}

// fit is fitted in one style; ok reports whether all that a reader must not miss found room.
func (r *Report) fit(width int, how tableStyle) (out [][]column, ok bool) {
	var tables [][]column
	for i := range r.Workloads {
		tables = append(tables, r.Workloads[i].columns(how))
	}
	if len(tables) == 0 {
		return nil, true
	}
	// The columns of all tables are the same ones in the same order, but for their words: each
	// is kept if it finds room in every table.
	first := tables[0]
	order := make([]int, len(first))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return first[a].drop - first[b].drop })
	used, keep := make([]int, len(tables)), make([]bool, len(first))
	for t := range used {
		used[t] = -2
	}
	ok = true
	for _, i := range order {
		room := true
		for t := range tables {
			room = room && used[t]+tables[t][i].room() <= width
		}
		if keep[i] = room || first[i].drop == 0; !keep[i] {
			ok = ok && first[i].head != headInterval && first[i].head != headDisk && first[i].head != headP99
			continue
		}
		for t := range tables {
			used[t] += tables[t][i].room()
			ok = ok && used[t] <= width
		}
	}
	for _, table := range tables {
		var kept []column
		for i, c := range table {
			if keep[i] && c.room() > 0 {
				kept = append(kept, c)
			}
		}
		out = append(out, kept)
	}
	return out, ok
}

// columns lays out a workload's table. The drop values say what goes first on a
// narrow terminal: never the value, the ratio and the verdict, and the p99 and the interval last.
func (w *Workload) columns(how tableStyle) []column {
	u := rateUnit(w.Metric, w.Cells)
	var (
		place    = column{head: "where", left: true}
		value    = column{head: w.valueHead(u)}
		spread   = column{head: w.spreadHead(), drop: 8}
		n        = column{head: "n", drop: 7}
		ratio    = column{head: "ratio"}
		ratioCI  = column{head: headInterval, drop: 1}
		verdict  = column{head: "verdict", left: true}
		marks    = column{head: "", left: true}
		p        = column{head: headP, drop: 4}
		p50      = column{head: "p50", drop: 5}
		p99      = column{head: headP99, drop: 2}
		p999     = column{head: "p99.9", drop: 6}
		cpu      = column{head: "CPU/op", drop: 9}
		disk     = column{head: headDisk, drop: 3}
		kinds    []style
		doubtful []bool
	)
	uneven := slices.ContainsFunc(w.Cells, func(c Cell) bool { return c.N != w.Cells[0].N })
	between := " - "
	if how.narrow {
		between = "-"
		if w.Metric.Unit != "B/s" && w.Metric.Name != "IOPS" {
			value.head = u.name // The heading above the table says what is counted.
		}
	}
	for i := range w.Cells {
		c := &w.Cells[i]
		l := c.of(w.Class)
		kinds = append(kinds, styleOf(c.Kind))
		doubtful = append(doubtful, c.Doubt)
		put := func(col *column, s string) { col.cells = append(col.cells, s) }
		label, says, mark := c.Label, c.short(), w.markText(c)
		if how.narrow {
			says = c.shorter()
		}
		if !how.all {
			label = c.shortLabel()
		}
		if how.merged {
			mark = w.marksOf(c)
		}
		put(&place, cut(clean.Line(label), 40))
		put(&marks, mark)
		put(&verdict, clean.Line(says))
		if uneven || how.all {
			put(&n, fmt.Sprint(c.N))
		} else {
			put(&n, "") // The report says how many blocks there were.
		}
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
		put(&ratioCI, c.intervalText(between))
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
	return []column{place, value, marks, spread, n, ratio, ratioCI, p, verdict, p50, p99, p999, cpu, disk}
}

// shortLabel is the label without what the verdict beside it says: that this is the A/A control.
func (c *Cell) shortLabel() string {
	if c.Kind == Control {
		return strings.TrimSuffix(c.Label, controlSuffix)
	}
	return c.Label
}

// tooWide is the factor between the ends of an interval from which its figures say nothing.
const tooWide = 10

// intervalText prints the interval of a ratio; one that spans more than an order of magnitude
// and proves nothing is said to do so, since its ends would look like findings.
func (c *Cell) intervalText(between string) string {
	x := c.Compared
	if !x.Low.Known() || !x.High.Known() {
		return notKnown // One block has none; a column without any is left out.
	}
	if x.High > tooWide*x.Low && (c.Kind == Inconclusive || c.Kind == Control) {
		return "too wide to say"
	}
	if c.Kind == Faster && x.High >= 2 {
		// The verdict is in factors too: one row must not have two versions of them.
		low, high := stats.Factors(float64(x.Low), float64(x.High))
		return low + between + high
	}
	return ratioText(x.Low) + between + ratioText(x.High)
}

// shorter is short in fewer words, for narrow tables: "inconclusive, ~6" is about 6 more blocks,
// and how far equivalence reaches is the same for all cells.
func (c *Cell) shorter() string {
	s := strings.NewReplacer(" more blocks", "", " more block", "", " times faster", "x faster", " times slower", "x slower", "FAILED", "FAIL").Replace(c.short())
	if c.Kind == Failed {
		s = c.short() // There is nothing else in the row.
	}
	if rest, ok := strings.CutPrefix(s, "looks "); ok {
		verdict, failed, _ := strings.Cut(rest, ";")
		if failed != "" {
			failed = ";" + failed
		}
		s = verdict + "?" + failed // As in the overview.
	}
	if i := strings.Index(s, " within "); i > 0 {
		rest := ""
		if j := strings.Index(s, ";"); j > i {
			rest = s[j:]
		}
		if strings.HasSuffix(s, "?") || strings.Contains(s, "?;") {
			rest = "?" + rest
		}
		s = s[:i] + rest
	}
	return s
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
	if head == headInterval {
		return "median's interval" // The ratio has one too.
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

// notKnown stands for a figure that there is none of.
const notKnown = "n/a"

func known(n Num, format func(Num) string) string {
	if !n.Known() {
		return notKnown
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

// hasIntervals reports whether any ratio of the workload has an interval. A single block gives none.
func (w *Workload) hasIntervals() bool {
	return slices.ContainsFunc(w.Cells, func(c Cell) bool { return c.Compared != nil && c.Compared.Low.Known() && c.Compared.High.Known() })
}
