package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/measure/stats"
	"plimsoll/internal/text/clean"
)

// headInterval is the head of the column of a ratio's interval.
const headInterval = "95 % interval"

// The order in which columns are dropped on a narrow terminal, the last one first. The evidence of a verdict, its test, and
// the marks are kept longest.
const (
	dropInterval = iota + 1 // 0 is never dropped.
	dropP
	dropP99
	dropDisk
	dropOthers // all later columns
)

// A tableStyle says how a workload's table is worded.
type tableStyle struct {
	// narrow uses the shortest words for everything, to make room for columns.
	narrow bool
	// tight, in a narrow table, also shortens well-known figures and heads.
	tight bool
	// merged marks cells with the doubts of the whole run instead of the workload's footnotes.
	merged bool
	// all shows the number of trials even where all cells have the same, and the full labels.
	all bool
}

// fitted lays out the tables of all workloads for a width, with the same columns in all of them: readers would search for a
// column that comes and goes. It shortens words to keep the ratio with its interval, the bytes that reached the device, and
// the p99.
func (r *Report) fitted(width int, merged bool) [][]column {
	full, lost := r.fit(width, tableStyle{merged: merged})
	if lost >= dropOthers {
		return full
	}
	narrow, lost := r.fit(width, tableStyle{narrow: true, merged: merged})
	if lost >= dropOthers {
		return narrow
	}
	if tight, still := r.fit(width, tableStyle{narrow: true, tight: true, merged: merged}); still > lost {
		return tight
	}
	return narrow
}

// fit lays out the tables in one style. lost is the drop value of the most important column that found no room: 0 if one
// that is never dropped found none, and more than that of any column if all found room.
func (r *Report) fit(width int, how tableStyle) (out [][]column, lost int) {
	lost = math.MaxInt
	var tables [][]column
	for i := range r.Workloads {
		tables = append(tables, r.Workloads[i].columns(how))
	}
	if len(tables) == 0 {
		return nil, lost
	}
	// All tables have the same columns in the same order, with other words. A column is kept if it fits in every table.
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
	for _, i := range order {
		room := true
		for t := range tables {
			room = room && used[t]+tables[t][i].room() <= width
		}
		if keep[i] = room || first[i].drop == 0; !keep[i] {
			lost = min(lost, first[i].drop)
			continue
		}
		for t := range tables {
			used[t] += tables[t][i].room()
			if used[t] > width {
				lost = 0
			}
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
	return out, lost
}

// columns lays out a workload's table. The drop values say what goes first on a narrow terminal: never the value, the ratio
// and the verdict.
func (w *Workload) columns(how tableStyle) []column {
	u := rateUnit(w.Metric, w.Cells)
	var (
		place    = column{head: "where", left: true}
		value    = column{head: w.valueHead(u)}
		spread   = column{head: w.spreadHead(), drop: dropOthers + 3}
		n        = column{head: "n", drop: dropOthers + 2}
		ratio    = column{head: "ratio"}
		ratioCI  = column{head: headInterval, drop: dropInterval}
		verdict  = column{head: "verdict", left: true}
		marks    = column{head: "", left: true}
		p        = column{head: "p", drop: dropP}
		p50      = column{head: "p50", drop: dropOthers}
		p99      = column{head: "p99", drop: dropP99}
		p999     = column{head: "p99.9", drop: dropOthers + 1}
		cpu      = column{head: "CPU/op", drop: dropOthers + 4}
		disk     = column{head: "to disk", drop: dropDisk}
		kinds    []style
		doubtful []bool
	)
	uneven := slices.ContainsFunc(w.Cells, func(c Cell) bool { return c.N != w.Cells[0].N })
	between := " - "
	if how.narrow {
		between = "-"
		if w.Metric.Unit == "1/s" && w.Metric.Name != "IOPS" {
			value.head = u.name // The heading above the table names what is counted.
		}
	}
	pWords := pText
	if how.tight {
		ratioCI.head, pWords = "interval", pShort
		value.head = strings.Replace(value.head, "k IOPS", "kIOPS", 1)
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
		if how.tight {
			says = tightWords.Replace(ofTrials.ReplaceAllString(says, "$1 FAIL"))
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
			put(&n, "") // The head of the report has the number of blocks.
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
		interval := c.intervalText(between)
		if how.tight && interval == tooWide {
			interval = "too wide"
		}
		put(&ratioCI, interval)
		put(&p, known(c.Compared.P, pWords))
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

// shortLabel is the label without "A/A control", which the verdict beside it says.
func (c *Cell) shortLabel() string {
	if c.Kind == Control {
		return strings.TrimSuffix(c.Label, controlSuffix)
	}
	return c.Label
}

// maxSpread is the greatest ratio of an interval's ends for which its figures mean anything.
const maxSpread = 10

// tooWide is printed in place of a wider interval.
const tooWide = "too wide to say"

// intervalText prints the interval of a ratio. One that spans more than an order of magnitude and proves nothing is
// replaced by words, since its ends would look like findings.
func (c *Cell) intervalText(between string) string {
	x := c.Compared
	if !x.Low.Known() || !x.High.Known() {
		return notKnown // One block gives no interval; a column without any is left out.
	}
	if x.High > maxSpread*x.Low && (c.Kind == Inconclusive || c.Kind == Control) {
		return tooWide
	}
	if c.Kind == Faster && x.High >= 2 {
		// The verdict is in factors, too: both must be rounded alike.
		low, high := stats.Factors(float64(x.Low), float64(x.High))
		return low + between + high
	}
	return ratioText(x.Low) + between + ratioText(x.High)
}

// shorter is short in fewer words, for narrow tables. "inconclusive, ~6" is about 6 more blocks. The margin of equivalence
// is left out: it is the same for all cells.
func (c *Cell) shorter() string {
	s := strings.NewReplacer(" more blocks", "", " more block", "", " times faster", "x faster", " times slower", "x slower", "FAILED", "FAIL").Replace(strings.Replace(c.short(), c.aside, "", 1))
	if c.Kind == Failed {
		s = c.short() // The row has nothing else.
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
	return insert(s, c.aside)
}

// The percentiles of a class, unknown if a cell doesn't have it.
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
	if w.Metric.Unit == "B/s" || w.Metric.LowerIsBetter() {
		return u.name
	}
	prefix := strings.TrimSuffix(u.name, "/s")
	name := w.Metric.Name
	if name != "IOPS" {
		name += "/s"
	}
	return strings.TrimSpace(prefix + " " + name)
}

// spreadHead is the head of the columns of low and high.
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
		return "median's interval" // The ratio has an interval, too.
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

// notKnown is printed for a figure that doesn't exist.
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

// pShort is pText without the leading zero: .031.
func pShort(n Num) string { return strings.Replace(pText(n), "0.", ".", 1) }

// tightWords shortens a verdict further than shorter does: "slower 13-19 %", "inconclusive ~6", "5.9-6.8x, memory" (the
// ratio shows that it is faster).
var tightWords = strings.NewReplacer("slower by ", "slower ", "faster by ", "faster ", "inconclusive, ~", "inconclusive ~", "x faster, in memory", "x, memory", "x faster, less safe", "x, less safe")

// ofTrials finds the number of all trials in "; 1/6 FAIL". The head of the report has the number of blocks.
var ofTrials = regexp.MustCompile(`\b([0-9]+)/[0-9]+ FAIL$`)

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
