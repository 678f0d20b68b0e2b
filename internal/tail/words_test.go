package tail

import (
	"strings"
	"testing"
)

func TestLastWords(t *testing.T) {
	long := strings.Repeat("x", maxWords-1)
	for in, want := range map[string]string{
		"":                       "",
		" \n\n":                  "",
		"one":                    "one",
		"one\n  two  \n\n":       "two",
		`level=error msg="kept"`: `level=error msg="kept"`,
		`time="2026-01-02T03:04:05Z" level=error msg="runc run failed: \"a\" is no folder"`: `runc run failed: "a" is no folder`,
		`time="2026-01-02T03:04:05Z" level=error msg=plain`:                                 "plain",
		`time="2026-01-02T03:04:05Z" level=error msg="torn`:                                 `"torn`,
		long + "ab": long + "a ...",
		long + "é":  long + " ...",
	} {
		if got := LastWords(in); got != want {
			t.Errorf("LastWords(%q) = %q, want %q", in, got, want)
		}
	}
}
