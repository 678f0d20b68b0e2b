// Package texttest looks for words in texts that differ from run to run, such as those about a real container. A text that is the same in
// every run is compared whole, with a golden file (package golden).
package texttest

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/text/lastbytes"
)

// most is how much of a text is printed, in bytes: the middle is left out.
const most = 4096

// Has fails the test for each of the words that the text lacks. of says whose text it is, such as the arguments of a command.
func Has(t testing.TB, text string, words []string, of ...any) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%sno %q in:\n%s", label(of), w, lastbytes.Cut(text, most))
		}
	}
}

// Lacks fails the test for each of the words that the text has.
func Lacks(t testing.TB, text string, words []string, of ...any) {
	t.Helper()
	for _, w := range words {
		if strings.Contains(text, w) {
			t.Errorf("%s%q in:\n%s", label(of), w, lastbytes.Cut(text, most))
		}
	}
}

func label(of []any) string {
	if len(of) == 0 {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintln(of...), "\n") + ": "
}
