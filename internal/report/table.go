package report

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A column of a text table. Columns with a higher drop value go first when the
// table is too wide; 0 stays.
type column struct {
	head  string
	left  bool
	drop  int
	cells []string
	// style colours a cell; nil: none.
	style func(row int) style
}

func (c *column) width() int {
	w := utf8.RuneCountInString(c.head)
	for _, s := range c.cells {
		w = max(w, utf8.RuneCountInString(s))
	}
	return w
}

// fit drops columns until the table is at most width wide, and empty ones anyway.
func fit(columns []column, width int) []column {
	columns = slices.DeleteFunc(columns, func(c column) bool {
		return !slices.ContainsFunc(c.cells, func(s string) bool { return s != "" })
	})
	for {
		total, worst := 0, -1
		for i := range columns {
			total += columns[i].width() + 2
			if d := columns[i].drop; d > 0 && (worst < 0 || d > columns[worst].drop) {
				worst = i
			}
		}
		if total-2 <= width || worst < 0 {
			return columns
		}
		columns = slices.Delete(columns, worst, worst+1)
	}
}

// lines lays the table out: a head line, and a line a row.
func lines(columns []column, paint painter) []string {
	rows := 0
	for i := range columns {
		rows = max(rows, len(columns[i].cells))
	}
	out := make([]string, 0, rows+1)
	for row := -1; row < rows; row++ {
		var b strings.Builder
		for i := range columns {
			c := &columns[i]
			text, st := c.head, dim
			if row >= 0 {
				text, st = "", none
				if row < len(c.cells) {
					text = c.cells[row]
				}
				if c.style != nil {
					st = c.style(row)
				}
			}
			pad := strings.Repeat(" ", c.width()-utf8.RuneCountInString(text))
			if i > 0 {
				b.WriteString("  ")
			}
			if c.left {
				b.WriteString(paint(st, text) + pad)
			} else {
				b.WriteString(pad + paint(st, text))
			}
		}
		out = append(out, strings.TrimRight(b.String(), " "))
	}
	return out
}

// wrap breaks text at spaces so that no line is wider than width, if it can. The
// text begins in column indent, and so do the lines after the first.
func wrap(text string, width, indent int) string {
	var b strings.Builder
	at := indent
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}

// style is the meaning of a piece of text, painted where the writer is a terminal.
type style int

const (
	none style = iota
	bold
	dim
	good
	bad
	unsure
	alarm
)

// painter colours text; the one for plain writers returns it as it is.
type painter func(style, string) string

func noPaint(_ style, s string) string { return s }

// ansi colours with the 16 colours of the terminal's own palette, so that they
// suit dark and light ones.
func ansi(st style, s string) string {
	codes := [...]string{none: "", bold: "1", dim: "2", good: "32", bad: "31", unsure: "33", alarm: "1;31"}
	if st == none || s == "" {
		return s
	}
	return "\x1b[" + codes[st] + "m" + s + "\x1b[0m"
}

func styleOf(k Kind) style {
	switch k {
	case Slower:
		return bad
	case Faster:
		return good
	case Failed:
		return alarm
	case Inconclusive:
		return unsure
	case Skipped, Missing, Base, Control:
		return dim
	}
	return none
}
