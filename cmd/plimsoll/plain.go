package main

import (
	"slices"
	"strings"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/dialect/orion"
	"plimsoll/internal/text/clean"
)

// plain reads a line that was pasted from a web page: typographic dashes and quotes are those of a keyboard. It says how the line was
// read, unless --quiet is in it.
func (a *app) plain(args []string) []string {
	plain, changed := dialect.Plain(args, hyphens(args))
	if !changed {
		return args
	}
	if !slices.Contains(plain, "--quiet") {
		words := []string{"plimsoll"}
		for _, w := range plain {
			words = append(words, clean.Shell(w))
		}
		dialect.Note(a.stderr, "plimsoll reads typographic dashes and quotes as plain ones: %s", strings.Join(words, " "))
	}
	return plain
}

// hyphens says which options of a line have two hyphens: all that are words, but for those of tools whose own have one.
func hyphens(args []string) func(word string) bool {
	word := func(w string) bool { return len(w) > 1 }
	command := 0
	if len(args) > 1 && args[0] == "--state" {
		command = 2
	}
	if command >= len(args) || !slices.Contains([]string{"diskspd", "orion", "dd", "ab"}, args[command]) {
		return word
	}
	own := ownFlags()
	for _, o := range orion.Options {
		own = append(own, o.Name)
	}
	return func(w string) bool { return slices.Contains(own, "--"+w) }
}
