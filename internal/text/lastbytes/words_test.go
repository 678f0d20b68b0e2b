package lastbytes

import (
	"strings"
	"testing"
)

func TestLastWords(t *testing.T) {
	many := func(s string, n int) string { return strings.Repeat(s, n) }
	for in, want := range map[string]string{
		"":                       "",
		" \n\n":                  "",
		"one":                    "one",
		"one\n  two  \n\n":       "two",
		`level=error msg="kept"`: `level=error msg="kept"`,
		`time="2026-01-02T03:04:05Z" level=error msg="runc run failed: \"a\" is not a folder"`: `runc run failed: "a" is not a folder`,
		`time="2026-01-02T03:04:05Z" level=error msg=plain`:                                    "plain",
		`time="2026-01-02T03:04:05Z" level=error msg="torn`:                                    `"torn`,
		many("x", maxWords):                  many("x", maxWords),
		many("x", maxWords) + many("y", 300): many("x", 100) + " ... " + many("y", 200),
		"x" + many("é", 300) + "x":           "x" + many("é", 49) + " ... " + many("é", 99) + "x",
	} {
		if got := LastWords(in); got != want {
			t.Errorf("LastWords(%q) = %q, want %q", in, got, want)
		}
	}
}
