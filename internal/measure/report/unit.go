package report

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/size"
)

// A unit scales the figures of one column, so that they can be compared by eye.
type unit struct {
	div  float64
	name string
}

func (u unit) format(n Num) string {
	if !n.Known() {
		return "n/a"
	}
	return digits(float64(n)/u.div, 3)
}

// rateUnit picks the unit for a metric's values by the greatest of them. Bytes are binary, as in the plan's sizes.
func rateUnit(m workload.Metric, cells []Cell) unit {
	most, least := 0.0, math.Inf(1)
	for _, c := range cells {
		if v := float64(c.Median); c.Median.Known() && v > 0 {
			most, least = max(most, v), min(least, v)
		}
	}
	if m.LowerIsBetter() {
		if most < 1 {
			return unit{1e-3, "ms"}
		}
		return unit{1, "s"}
	}
	if m.Unit == "B/s" {
		for _, u := range []unit{{1 << 30, "GiB/s"}, {1 << 20, "MiB/s"}, {1 << 10, "KiB/s"}} {
			// Bytes change to the next unit late: 1,600 MiB/s next to 40 MiB/s reads well.
			if most >= 10*u.div || most >= u.div && u.div < 1<<30 {
				return u
			}
		}
		return unit{1, "B/s"}
	}
	// Thousands only if the least figure keeps two digits: 890 next to 12,000 reads better than 0.89 next to 12.
	div, prefix := siPrefix(min(least, most) / 10)
	if prefix == "" {
		return unit{1, "/s"}
	}
	return unit{div, prefix + "/s"}
}

// durationText prints a latency in ns with the unit that fits it: "134 µs".
func durationText(n Num) string {
	if !n.Known() {
		return "n/a"
	}
	return size.Duration(time.Duration(n))
}

// siPrefix returns the decimal scale of v: 1e6 and "M".
func siPrefix(v float64) (float64, string) {
	switch {
	case v >= 1e9:
		return 1e9, "G"
	case v >= 1e6:
		return 1e6, "M"
	case v >= 1e3:
		return 1e3, "k"
	}
	return 1, ""
}

// digits prints v with n significant digits, but all digits before the point, and commas at thousands: 0.0123, 1.23, 123,
// 12,345.
func digits(v float64, n int) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	decimals := max(0, n-1-int(math.Floor(math.Log10(math.Abs(v)))))
	s := strconv.FormatFloat(v, 'f', min(decimals, 6), 64)
	if math.Abs(v) < 1000 {
		return s
	}
	return commas(s)
}

func commas(s string) string {
	sign := ""
	if s != "" && s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// ratioText prints a ratio: 0.0123, 0.973, 1.021, 2.34, 12.3.
func ratioText(n Num) string {
	if !n.Known() {
		return "?"
	}
	v := float64(n)
	if v >= 0.1 && v < 2 {
		return fmt.Sprintf("%.3f", v)
	}
	return digits(v, 3)
}

// shortRatio is ratioText for overviews: 0.97, 12.
func shortRatio(n Num) string {
	v := float64(n)
	if n.Known() && v >= 0.1 && v < 10 {
		return fmt.Sprintf("%.2f", v)
	}
	return ratioText(n)
}

// percentileText prints a percentile, or why there is none.
func (l *Latency) percentileText(n Num) string {
	if l == nil {
		return ""
	}
	if !n.Known() {
		return fmt.Sprintf("n/a (only %s I/Os)", commas(strconv.FormatUint(l.Ops, 10)))
	}
	return durationText(n)
}
