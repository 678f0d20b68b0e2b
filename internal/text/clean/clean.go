// Package clean makes foreign text safe for a terminal: messages of daemons, containers and plans may contain escape
// sequences and be of any length.
package clean

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// escapes matches terminal control sequences: CSI, OSC (ended by BEL or ST) and
// the two-character ones (ECMA-48).
var escapes = regexp.MustCompile(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[PX^_][^\x1b]*(\x1b\\)?|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]`)

// Text makes foreign text safe for a terminal: logs and names may hold anything. Escape
// sequences go, other control characters and text-direction overrides become a
// space, line breaks stay.
func Text(s string) string {
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

// Line is Text without line breaks.
func Line(s string) string {
	s = Text(s)
	if !strings.Contains(s, "\n") {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// Name returns a foreign name unchanged, or quoted if a terminal would not show it so, as with a line break or an
// escape sequence.
func Name(s string) string {
	if Text(s) == s && !strings.Contains(s, "\n") {
		return s
	}
	return strconv.Quote(s)
}

func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// MaxLine is the length to which Short cuts a foreign message, in bytes.
const MaxLine = 1000

// Short is Line, cut after MaxLine bytes.
func Short(s string) string {
	s = Line(s)
	if len(s) <= MaxLine {
		return s
	}
	return strings.ToValidUTF8(s[:MaxLine], "") + " ..."
}
