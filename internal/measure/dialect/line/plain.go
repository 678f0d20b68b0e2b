package line

import (
	"slices"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/dialect/orion"
)

// Plain reads a line of plimsoll that was pasted from a web page: typographic dashes and quotes are those of a keyboard. changed says that
// there was something to read so.
func Plain(args []string) (plain []string, changed bool) {
	return dialect.Plain(args, hyphens(args))
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
