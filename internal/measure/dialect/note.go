package dialect

import (
	"fmt"
	"io"
)

// Quiet is the standard error of a command line with --quiet: the tool's own messages are printed, Plimsoll's notes
// and doubts are not.
type Quiet struct{ io.Writer }

// Note prints a note of Plimsoll's own on standard error.
func Note(stderr io.Writer, format string, args ...any) {
	if _, quiet := stderr.(Quiet); !quiet {
		fmt.Fprintf(stderr, "plimsoll: "+format+"\n", args...)
	}
}
