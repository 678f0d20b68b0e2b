package dialect

import (
	"fmt"
	"io"
)

// Quiet is the standard error of a line with --quiet: the tool's own words go there, and Plimsoll's notes and doubts don't.
type Quiet struct{ io.Writer }

// Note prints something of Plimsoll's own beside what the tool prints: a line on its standard error.
func Note(stderr io.Writer, format string, args ...any) {
	if _, quiet := stderr.(Quiet); !quiet {
		fmt.Fprintf(stderr, "plimsoll: "+format+"\n", args...)
	}
}
