package nearest

import (
	"strings"
	"testing"
)

func TestWord(t *testing.T) {
	words := []string{"blocks", "quick", "seed", "set", "only"}
	for word, want := range map[string]string{
		"":                           "",
		"nosuch":                     "",
		"x":                          "",
		"blok":                       "blocks",
		"BLOCK":                      "blocks",
		"quik":                       "quick",
		"sed":                        "seed", // As near as set, and first.
		"se":                         "set",
		"onlyx":                      "only",
		strings.Repeat("quick", 100): "",
	} {
		if got := Word(word, words); got != want {
			t.Errorf("Word(%q) = %q, want %q", word, got, want)
		}
	}
}
