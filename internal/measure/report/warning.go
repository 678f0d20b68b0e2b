package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/size"
)

// notebook gathers the warnings of one workload. Warnings of the same check with the same words are one footnote, whatever
// their figures.
type notebook struct {
	entries []*entry
}

// entry is a footnote in the making.
type entry struct {
	check, severity, masked, text string
	marks                         []cellMark
	// degree is that of text; worst is the row of its cell.
	degree float64
	worst  int
}

// cellMark lists the trials of a cell that have a warning. The cell is numbered by its row in the workload's table, the
// trials by their place in the cell.
type cellMark struct {
	row    int
	trials []int
	of     int
}

// add notes the warnings of the trials of the cell in a row.
func (n *notebook) add(row int, trials []*record.Trial) {
	for i, t := range trials {
		for _, w := range t.Warnings {
			n.entry(w, row).count(row, i, len(trials))
		}
	}
}

// entry finds the entry of w, a warning of the cell in row, or makes it.
func (n *notebook) entry(w record.Warning, row int) *entry {
	w.Severity = severity(w.Severity)
	masked := mask(w.Text)
	for _, e := range n.entries {
		if e.check == w.Check && e.severity == w.Severity && e.masked == masked {
			if x := degree(w); x > e.degree {
				e.text, e.degree, e.worst = w.Text, x, row
			}
			return e
		}
	}
	e := &entry{check: w.Check, severity: w.Severity, masked: masked, text: w.Text, degree: degree(w), worst: row}
	n.entries = append(n.entries, e)
	return e
}

// count notes that one of the trials of a cell has the warning. A trial counts once.
func (e *entry) count(row, trial, of int) {
	if k := len(e.marks) - 1; k < 0 || e.marks[k].row != row {
		e.marks = append(e.marks, cellMark{row: row, of: of})
	}
	if m := &e.marks[len(e.marks)-1]; !slices.Contains(m.trials, trial) {
		m.trials = append(m.trials, trial)
	}
}

// footnotes numbers the warnings, doubts first, and marks the cells with them.
func (n *notebook) footnotes(cells []Cell) []Footnote {
	slices.SortStableFunc(n.entries, func(a, b *entry) int {
		return cmp.Compare(severityOrder(a.severity), severityOrder(b.severity))
	})
	var out []Footnote
	doubted := make([]map[int]bool, len(cells))
	for i, e := range n.entries {
		// The list of cells continues the sentence, which therefore has no full stop.
		f := Footnote{Mark: markOf(i+1, e.severity), Check: e.check, Severity: e.severity, Text: strings.TrimSuffix(e.text, ".")}
		var where []cellTrials
		for _, m := range e.marks {
			c := &cells[m.row]
			c.Marks = append(c.Marks, i+1)
			where = append(where, cellTrials{c.Label, inTrials(len(m.trials), m.of)})
			if e.severity != record.Doubt {
				continue
			}
			if doubted[m.row] == nil {
				doubted[m.row] = map[int]bool{}
			}
			for _, t := range m.trials {
				doubted[m.row][t] = true
			}
			// A doubt about one trial of six doesn't spoil a median. Doubts about half of the trials do, whichever they
			// are.
			c.Doubt = 2*len(doubted[m.row]) >= m.of
		}
		f.Where = whereText(e.marks, where, cells)
		out = append(out, f)
	}
	return out
}

// maxWhere is how many cells a sentence names before it only counts them.
const maxWhere = 8

// cellTrials is a cell with a warning, and the number of its trials that have it.
type cellTrials struct{ label, trials string }

// whereText lists the cells of a footnote, those with the same number of trials together, or says "in all cells".
func whereText(marks []cellMark, where []cellTrials, cells []Cell) string {
	trials, of := 0, 0
	for _, m := range marks {
		trials, of = trials+len(m.trials), of+m.of
	}
	if n := countCells(cells); n > 1 && len(marks) == len(cells) {
		return fmt.Sprintf("in all %d cells, %s", n, inTrials(trials, of))
	}
	more := ""
	if len(where) > maxWhere {
		more = fmt.Sprintf("; and %d more cells", len(where)-maxWhere)
		where = where[:maxWhere]
	}
	slices.SortStableFunc(where, func(a, b cellTrials) int { return cmp.Compare(a.trials, b.trials) })
	var b strings.Builder
	for i, w := range where {
		b.WriteString(w.label)
		if last := i == len(where)-1; !last && where[i+1].trials == w.trials {
			b.WriteString(", ")
		} else {
			b.WriteString(" (" + w.trials + ")")
			if !last {
				b.WriteString("; ")
			}
		}
	}
	return b.String() + more
}

func inTrials(n, of int) string {
	switch {
	case n == of && n == 2:
		return "in both trials"
	case n == of && n > 2:
		return fmt.Sprintf("in all %d trials", n)
	}
	return fmt.Sprintf("in %d of %s", n, size.Plural(of, "trial"))
}

// severity is Note for anything but Doubt.
func severity(s string) string {
	if s == record.Doubt {
		return s
	}
	return record.Note
}

func severityOrder(s string) int {
	if s == record.Doubt {
		return 0
	}
	return 1
}

// units are those that follow figures.
var units = []string{"bytes", "KiB", "MiB", "GiB", "TiB", "B", "ns", "µs", "ms", "min", "s", "k", "M", "G"}

// mask replaces the figures of a text by their units, so that sentences that differ only in figures are equal.
func mask(s string) string {
	var b strings.Builder
	figure := false
	skip := 0
	for i, r := range s {
		if i < skip {
			continue
		}
		if r == ' ' && figure {
			for _, u := range units {
				if rest, ok := strings.CutPrefix(s[i+1:], u); ok && !startsWithLetter(rest) {
					skip = i + 1 + len(u)
					break
				}
			}
			if i < skip {
				figure = false
				continue
			}
		}
		digit := r >= '0' && r <= '9'
		switch {
		case digit && !figure:
			figure = true
			b.WriteByte('#')
		case digit, figure && (r == '.' || r == ','):
		default:
			figure = false
			b.WriteRune(r)
		}
	}
	return b.String()
}

func startsWithLetter(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r)
}
