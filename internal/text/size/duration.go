package size

import (
	"fmt"
	"strings"
	"time"
)

// DurationPattern matches every duration that ParseDuration accepts; schemas
// use it.
const DurationPattern = `^(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`

// longNames are other words for Go's units.
var longNames = []struct{ word, unit string }{
	{"msec", "ms"}, {"usec", "us"}, {"nsec", "ns"}, {"sec", "s"}, {"min", "m"}, {"hour", "h"},
}

// ParseDuration reads a time in Go's notation: "400ms", "1m30s", "2h". It
// refuses negative ones and plain numbers, which could be seconds to one reader
// and milliseconds to another; 0 needs no unit. The error says what to write.
func ParseDuration(s string) (time.Duration, error) {
	switch {
	case s == "":
		return 0, fmt.Errorf("a time is empty: write one like 400ms or 5s")
	case len(s) > maxInput:
		return 0, fmt.Errorf("a time of %d characters is none: write one like 400ms or 5s", len(s))
	case s[0] == '-':
		return 0, fmt.Errorf("%q is negative: a time is 0 or more", s)
	case s[0] == '+':
		return 0, fmt.Errorf("%q has a sign: write %s", s, s[1:])
	}
	d, err := time.ParseDuration(s)
	if err == nil && (s == "0" || !isDecimal(s)) {
		return d, nil
	}
	return 0, fmt.Errorf("%q is not a time: %s", s, durationFix(s))
}

// durationFix says how to write the time that s seems to mean.
func durationFix(s string) string {
	if isDecimal(s) {
		return fmt.Sprintf("it has no unit; write %ss, %sms or %sus", s, s, s)
	}
	if strings.Contains(s, " ") {
		if t := strings.ReplaceAll(s, " ", ""); parses(t) {
			return "write " + t + ", without a space"
		}
	}
	if n, ok := strings.CutSuffix(s, "d"); ok && isDecimal(n) {
		return "there is no unit for days; write hours, like 24h"
	}
	for _, l := range longNames {
		for _, word := range []string{l.word + "s", l.word} {
			if n, ok := strings.CutSuffix(s, word); ok && isDecimal(n) {
				return "write " + n + l.unit
			}
		}
	}
	if t := strings.ToLower(s); parses(t) {
		return "write " + t
	}
	if _, err := time.ParseDuration(s); err != nil && parsesShape(s) {
		return "it is too long; the most is about 290 years"
	}
	return "write a number and a unit: ns, us, ms, s, m or h, like 400ms or 1m30s"
}

func parses(s string) bool { _, err := time.ParseDuration(s); return err == nil }

// parsesShape reports whether s is one number with one of the units, of any magnitude.
func parsesShape(s string) bool {
	for _, unit := range []string{"ns", "us", "µs", "μs", "ms", "s", "m", "h"} {
		if n, ok := strings.CutSuffix(s, unit); ok && isDecimal(n) {
			return true
		}
	}
	return false
}

// FormatDuration prints d so that ParseDuration reads d back, without Go's
// trailing zeros: "1m", not "1m0s".
func FormatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
