package hold

import (
	"fmt"
	"strings"
)

// EscapeLines collects what gets past limits. All data with the same explanation shares a line.
type EscapeLines struct {
	texts []string
	data  map[string][]string
}

// Add adds what gets past the limits of a target; who is "" if only one target is meant.
func (l *EscapeLines) Add(who string, escapes []Escape) {
	for _, e := range escapes {
		text := e.Text()
		if l.data == nil {
			l.data = map[string][]string{}
		}
		if l.data[text] == nil {
			l.texts = append(l.texts, text)
		}
		l.data[text] = append(l.data[text], strings.TrimLeft(who+" "+e.Data, " "))
	}
}

// namedEscapes is the maximum number of names in a line.
const namedEscapes = 5

// Lines returns the sentences.
func (l EscapeLines) Lines() (lines []string) {
	for _, text := range l.texts {
		names := l.data[text]
		line := strings.Join(names[:min(len(names), namedEscapes)], ", ")
		if more := len(names) - namedEscapes; more > 0 {
			line += fmt.Sprintf(" and %d more", more)
		}
		lines = append(lines, line+": "+text)
	}
	return lines
}
