package size

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// RatePattern matches every rate that ParseRate accepts; schemas use it.
const RatePattern = `^[0-9]+(\.[0-9]+)? ?(B|[KMGTPE]iB|[kKMGTPE]B)?(/s)?$`

// ParseRate reads a bandwidth in bytes per second: what Parse reads, with or
// without "/s" behind it ("10MiB/s", "10MiB"). Bits per second are refused.
func ParseRate(s string) (int64, error) {
	return Parse(strings.TrimSuffix(s, "/s"))
}

// ParseCount reads a plain whole number, 0 or more, such as a number of I/Os
// or I/Os per second. Letters are refused: a k is 1024 to fio.
func ParseCount(s string) (int64, error) {
	if len(s) > maxInput {
		return 0, fmt.Errorf("a count of %d characters is no number", len(s))
	}
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, fmt.Errorf("%q is no count: %s", s, countFix(s))
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is too large: the most is %d", s, int64(math.MaxInt64))
	}
	return n, nil
}

// countFix says how to write the count that s seems to mean.
func countFix(s string) string {
	switch {
	case strings.HasPrefix(s, "-"):
		return "it is 0 or more"
	case strings.Contains(s, "B"):
		return "bytes are not I/Os; write a plain number like 100, or limit bandwidth instead"
	case len(s) > 1 && strings.ContainsAny(s[len(s)-1:], "kKmM"):
		zeros := "000"
		if strings.ContainsAny(s[len(s)-1:], "mM") {
			zeros = "000000"
		}
		if n := s[:len(s)-1]; strings.Trim(n, "0123456789") == "" {
			return "write " + n + zeros
		}
	}
	return "write a plain number like 1000"
}
