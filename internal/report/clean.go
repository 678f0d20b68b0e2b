package report

import (
	"regexp"
	"strings"
	"unicode"
)

// escapes matches terminal control sequences: CSI, OSC (ended by BEL or ST) and
// the two-character ones (ECMA-48).
var escapes = regexp.MustCompile(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[PX^_][^\x1b]*(\x1b\\)?|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]`)

// clean makes foreign text safe for a terminal: logs and names may hold anything. Escape
// sequences go, other control characters and text-direction overrides become a
// space, line breaks stay.
func clean(s string) string {
	if plain(s) {
		return s
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = escapes.ReplaceAllString(s, "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return ' '
		}
		return r
	}, s)
}

// oneLine is clean without line breaks.
func oneLine(s string) string {
	s = clean(s)
	if !strings.Contains(s, "\n") {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// lastLines keeps the end of a log.
func lastLines(s string, n int) []string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return lines
}
