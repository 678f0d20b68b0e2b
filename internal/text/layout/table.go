package layout

import (
	"strings"
	"unicode/utf8"

	"plimsoll/internal/text/clean"
)

// A Table is rows of cells whose columns are as wide as their widest cell.
type Table struct {
	Head []string
	// Right are the columns that are aligned to the right, as numbers are.
	Right []int
	rows  [][]string
}

// Len is the number of rows, without the head.
func (t *Table) Len() int { return len(t.rows) }

// Add adds a row. Its cells are made safe for a terminal.
func (t *Table) Add(cells ...string) {
	for i, c := range cells {
		cells[i] = clean.Line(c)
	}
	t.rows = append(t.rows, cells)
}

// Write writes the table with its head. If a row has a single cell after its name, that may be a sentence: it widens
// no column.
func (t *Table) Write(b *strings.Builder) {
	width := make([]int, len(t.Head))
	all := append([][]string{t.Head}, t.rows...)
	for _, r := range all {
		for i, c := range r {
			if len(r) > 2 || i == 0 {
				width[i] = max(width[i], utf8.RuneCountInString(c))
			}
		}
	}
	right := map[int]bool{}
	for _, i := range t.Right {
		right[i] = true
	}
	for _, r := range all {
		var line strings.Builder
		for i, c := range r {
			pad := strings.Repeat(" ", max(0, width[i]-utf8.RuneCountInString(c)))
			if right[i] {
				c = pad + c
			} else {
				c += pad
			}
			line.WriteString(c + "  ")
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}
