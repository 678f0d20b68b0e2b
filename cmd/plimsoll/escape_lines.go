package main

import (
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/limit/hold"
	"plimsoll/internal/text/clean"
)

// escapeLines are what gets past limits: one line for all data of which the same is to be said.
type escapeLines struct {
	texts []string
	data  map[string][]string
}

func (l *escapeLines) add(who string, escapes []hold.Escape) {
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

// namedEscapes is how many are named of those of which the same is to be said.
const namedEscapes = 5

func (l escapeLines) print(w io.Writer) {
	for _, line := range l.lines() {
		fmt.Fprintln(w, clean.Line(line))
	}
}

// lines are the sentences.
func (l escapeLines) lines() (lines []string) {
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
