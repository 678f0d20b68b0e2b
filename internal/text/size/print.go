package size

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// None is printed for a figure that is not a number.
const None = "n/a"

// Bytes prints n bytes for people, in powers of 1024: "392 B", "1.2 GiB".
func Bytes(n int64) string { return scale(float64(n), 1024, binaryUnits) }

// Rate prints a bandwidth of v bytes per second for people: "1.2 GiB/s".
func Rate(v float64) string {
	s := scale(v, 1024, binaryUnits)
	if s == None {
		return s
	}
	return s + "/s"
}

// Count prints a number for people, in powers of 1000: "392", "12.7 k",
// "1.1 M".
func Count(v float64) string { return scale(v, 1000, countUnits) }

var (
	binaryUnits = []string{" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"}
	countUnits  = []string{"", " k", " M", " G", " T", " P", " E"}
)

// scale prints v in the largest unit in which it is at least 1. Values that are
// rounded up to a whole next unit are printed in that one: "1 MiB", not
// "1024 KiB".
func scale(v, base float64, units []string) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return None
	}
	i := 0
	for i < len(units)-1 && math.Abs(round(v)) >= base {
		v /= base
		i++
	}
	return digits(v) + units[i]
}

// round rounds v to what digits prints.
func round(v float64) float64 {
	r, err := strconv.ParseFloat(digits(v), 64)
	if err != nil {
		return v
	}
	return r
}

// digits prints v with three significant digits, without trailing zeros, and
// never in exponents: 0.00123 is "0.001", 123456 is "123456".
func digits(v float64) string {
	decimals := 0
	switch a := math.Abs(v); {
	case a < 0.9995:
		decimals = 3
	case a < 9.995:
		decimals = 2
	case a < 99.95:
		decimals = 1
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if decimals > 0 {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" {
		return "0"
	}
	return s
}

// Duration prints d for people: "87 ns", "392 µs", "1.23 s", "4 min 10 s",
// "2 h 5 min".
func Duration(d time.Duration) string {
	if d < 0 {
		if d == math.MinInt64 {
			d++ // It has no positive counterpart.
		}
		return "-" + Duration(-d)
	}
	switch {
	case d == 0:
		return "0 s"
	case d < 59950*time.Millisecond:
		return scale(float64(d), 1000, []string{" ns", " µs", " ms", " s"})
	case d < time.Hour-500*time.Millisecond:
		s := int64(d.Round(time.Second) / time.Second)
		return pair(s/60, "min", s%60, "s")
	}
	m := int64(d.Round(time.Minute) / time.Minute)
	return pair(m/60, "h", m%60, "min")
}

// pair prints two units, the second only if it isn't 0.
func pair(big int64, bigUnit string, small int64, smallUnit string) string {
	if small == 0 {
		return fmt.Sprintf("%d %s", big, bigUnit)
	}
	return fmt.Sprintf("%d %s %d %s", big, bigUnit, small, smallUnit)
}
