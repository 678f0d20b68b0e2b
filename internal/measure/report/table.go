package report

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A column of a text table. Columns with a lower drop value get room first; those with 0 always get it.
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

// room is the column's part of a table's width, 0 if it has no figure: such a column is left out.
func (c *column) room() int {
	if !slices.ContainsFunc(c.cells, func(s string) bool { return s != "" && s != notKnown }) {
		return 0
	}
	return c.width() + 2
}

// fit keeps the columns that must stay, and those of the others that still fit, in the order of their drop values. Columns
// without any figure are left out.
func fit(columns []column, width int) []column {
	columns = slices.DeleteFunc(columns, func(c column) bool {
		return c.room() == 0
	})
	order := make([]int, len(columns))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return columns[a].drop - columns[b].drop })
	used := 0
	keep := make([]bool, len(columns))
	for _, i := range order {
		if w := columns[i].width() + 2; columns[i].drop == 0 || used+w-2 <= width {
			used += w
			keep[i] = true
		}
	}
	var out []column
	for i := range columns {
		if keep[i] {
			out = append(out, columns[i])
		}
	}
	return out
}

// lines returns the head line and a line for each row.
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

// wrap breaks text at spaces so that no line is wider than width, if it can. The text begins in column indent, and so do
// the following lines.
func wrap(text string, width, indent int) string {
	var b strings.Builder
	at := indent
	for i, word := range words(text) {
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

// words splits text at spaces, but not before a percent sign or a factor's x.
func words(text string) []string {
	var out []string
	for _, w := range strings.Fields(text) {
		if n := len(out); n > 0 && (strings.HasPrefix(w, "%") || w == "x" || w == "x)" || w == "x);") {
			out[n-1] += " " + w
			continue
		}
		out = append(out, w)
	}
	return out
}

// style is the meaning of a piece of text. It is painted if the writer is a terminal.
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

// painter colours text; the one for plain writers returns it unchanged.
type painter func(style, string) string

func noPaint(_ style, s string) string { return s }

// ansi uses the 16 colours of the terminal's own palette, which suit dark and light terminals.
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
