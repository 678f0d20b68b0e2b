package main

import (
	"slices"
	"strings"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/dialect/line"
	"plimsoll/internal/text/clean"
)

// plain cleans up a command line that was pasted from a web page, and reports how it was read, unless it contains
// --quiet.
func (a *app) plain(args []string) []string {
	plain, changed := line.Plain(args)
	if changed && !slices.Contains(plain, "--quiet") {
		words := []string{"plimsoll"}
		for _, w := range plain {
			words = append(words, clean.Shell(w))
		}
		dialect.Note(a.stderr, "typographic dashes and quotes are read as plain ones: %s", strings.Join(words, " "))
	}
	return plain
}
