package check

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/text/size"
)

// bytes prints a quantity of bytes: "12.5 MiB".
func bytes(n float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for n >= 1024 && i < len(units)-1 {
		n /= 1024
		i++
	}
	digits := 0
	if i > 0 && n < 100 {
		digits = 1
	}
	return fmt.Sprintf("%.*f %s", digits, n, units[i])
}

// percent prints a share: "12 %".
func percent(share float64) string {
	switch p := share * 100; {
	case p > 0 && p < 0.95:
		return fmt.Sprintf("%.1f %%", p)
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}

// rate prints a figure of a metric: "3 k/s", "125 MiB/s".
func rate(v float64, unit string) string {
	if unit == "B/s" {
		return bytes(v) + "/s"
	}
	return size.Count(v) + "/s"
}

// times is "once" or "3 times".
func times[N int | int64 | uint64](n N) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// operations is "1 operation" or "12 operations".
func operations(n int64) string {
	if n == 1 {
		return "1 operation"
	}
	return fmt.Sprintf("%d operations", n)
}

// capital writes the first letter of s as a capital.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func contains(list []string, s string) bool { return slices.Contains(list, s) }
