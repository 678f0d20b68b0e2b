// Package layout lays text out for a terminal: lines that are broken between words, sentences after a label, and tables.
package layout

import (
	"fmt"
	"strings"

	"plimsoll/internal/text/clean"
)

// Width is the longest line of a sentence, in characters.
const Width = 96

// Wrap breaks text into lines of at most width characters.
func Wrap(text string, width int) string {
	var b strings.Builder
	n := 0
	for i, w := range strings.Fields(text) {
		switch {
		case i == 0:
		case n+1+len(w) > width:
			b.WriteByte('\n')
			n = 0
		default:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(w)
		n += len(w)
	}
	return b.String()
}

// Sentence writes a text after a label, with its further lines indented to its beginning.
func Sentence(b *strings.Builder, label, text string) {
	lines := Wrap(clean.Line(text), Width-len(label))
	fmt.Fprintf(b, "%s%s\n", label, strings.ReplaceAll(lines, "\n", "\n"+strings.Repeat(" ", len(label))))
}
