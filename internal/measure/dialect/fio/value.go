package fio

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/measure/dialect"
)

// An amount is a number of bytes, or percent of something.
type amount struct {
	n       int64
	percent bool
}

// A pair holds values for reads, writes and trims, and which of them are set.
type pair struct {
	read, write, trim          int64
	hasRead, hasWrite, hasTrim bool
}

// set takes the values that from has; the others keep theirs, as in fio.
func (p *pair) set(from pair) {
	if from.hasRead {
		p.read, p.hasRead = from.read, true
	}
	if from.hasWrite {
		p.write, p.hasWrite = from.write, true
	}
	if from.hasTrim {
		p.trim, p.hasTrim = from.trim, true
	}
}

// most is the greater of both.
func (p pair) most() int64 { return max(p.read, p.write) }

// prefixes are the powers of kb_base for the suffixes of a size.
var prefixes = map[string]int{"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}

// parseSize reads bytes. With fio's default kb_base=1024 the suffixes are reversed from the standard: k and kb are
// 1024, kib is 1000 (HOWTO, "Parameter types"). A bare ki is 1024.
func parseSize(s string, kbBase int64) (int64, error) {
	t := strings.ToLower(strings.TrimSpace(s))
	if h, ok := strings.CutPrefix(t, "0x"); ok {
		n, err := strconv.ParseInt(h, 16, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a size; write it as 4k, 1m, 512 or 0x1000", s)
		}
		return n, nil
	}
	i := 0
	for i < len(t) && (t[i] >= '0' && t[i] <= '9' || t[i] == '.') {
		i++
	}
	number, suffix := t[:i], t[i:]
	other := otherBase(kbBase)
	base := kbBase
	switch {
	case strings.HasSuffix(suffix, "ib"):
		suffix, base = strings.TrimSuffix(suffix, "ib"), other
	case strings.HasSuffix(suffix, "i"):
		suffix = strings.TrimSuffix(suffix, "i")
	default:
		suffix = strings.TrimSuffix(suffix, "b")
	}
	power, ok := prefixes[suffix]
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || !ok {
		return 0, fmt.Errorf("%q is not a size; write it as 4k, 1m or 512", s)
	}
	mult := int64(1)
	for range power {
		mult *= base
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && n <= math.MaxInt64/mult {
		return n * mult, nil
	}
	v := f * float64(mult)
	if v >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is larger than the largest possible file", s)
	}
	return int64(v), nil
}

// parseAmount reads a size or a percentage.
func parseAmount(s string, kbBase int64) (amount, error) {
	if p, ok := strings.CutSuffix(strings.TrimSpace(s), "%"); ok {
		p = strings.TrimSuffix(p, "%") // fio accepts the %% that other programs' templates write.
		n, err := strconv.Atoi(strings.TrimSpace(p))
		if err != nil || n < 0 || n > 100 {
			return amount{}, fmt.Errorf("%q must be a whole percentage from 0%% to 100%%", s)
		}
		return amount{int64(n), true}, nil
	}
	n, err := parseSize(s, kbBase)
	return amount{n: n}, err
}

// timeUnits are fio's.
var timeUnits = map[string]time.Duration{
	"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second,
	"ms": time.Millisecond, "msec": time.Millisecond, "us": time.Microsecond, "usec": time.Microsecond,
}

// parseTime reads a time. bare is the unit of a bare number: seconds for most options, microseconds for thinktime.
// D:H:M:S works too.
func parseTime(s string, bare time.Duration) (time.Duration, error) {
	t := strings.ToLower(strings.TrimSpace(s))
	bad := fmt.Errorf("%q is not a time; write it as 30, 30s, 500ms, 10us, 2m, 1h or 1:30", s)
	if strings.Contains(t, ":") {
		return parseClock(t, bad)
	}
	i := 0
	for i < len(t) && t[i] >= '0' && t[i] <= '9' {
		i++
	}
	n, err := strconv.ParseInt(t[:i], 10, 64)
	unit := bare
	if t[i:] != "" {
		unit = timeUnits[t[i:]]
	}
	if err != nil || unit == 0 {
		return 0, bad
	}
	if n > math.MaxInt64/int64(unit) {
		return 0, fmt.Errorf("%q is too long", s)
	}
	return time.Duration(n) * unit, nil
}

// parseClock reads [[days:]hours:]minutes:seconds.
func parseClock(t string, bad error) (time.Duration, error) {
	parts := strings.Split(t, ":")
	units := []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour}
	if len(parts) > len(units) {
		return 0, bad
	}
	var sum time.Duration
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 || n > 1e5 {
			return 0, bad
		}
		sum += time.Duration(n) * units[len(parts)-1-i]
	}
	return sum, nil
}

// parseBool reads 0 or 1. fio takes only numbers.
func parseBool(s string) (bool, error) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 0 || n > 1 {
		return false, fmt.Errorf("%q must be 0 or 1", s)
	}
	return n == 1, nil
}

// parseInt reads a number with an optional k, m or g.
func parseInt(s string, least, most int64) (int64, error) {
	n, err := parseSize(s, 1024)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	if strings.Contains(s, ".") {
		return 0, fmt.Errorf("%q is not a whole number", s)
	}
	if n < least || n > most {
		return 0, fmt.Errorf("%q must be from %d to %d", s, least, most)
	}
	return n, nil
}

// parsePair reads "reads,writes,trims". One value sets all; an empty one keeps the earlier value. Trims default to
// the value of writes.
func parsePair(s string, one func(string) (int64, error)) (pair, error) {
	// fio reads 4k-512k as it reads 4k,512k.
	parts := strings.Split(strings.ReplaceAll(s, "-", ","), ",")
	if len(parts) > 3 {
		return pair{}, fmt.Errorf("%q has more than three values: reads, writes, trims", s)
	}
	var p pair
	for i, part := range parts {
		if strings.TrimSpace(part) == "" {
			continue
		}
		n, err := one(part)
		if err != nil {
			return pair{}, err
		}
		switch i {
		case 0:
			p.read, p.hasRead = n, true
		case 1:
			p.write, p.hasWrite = n, true
		case 2:
			p.trim, p.hasTrim = n, true
		}
	}
	if len(parts) == 1 {
		p.write, p.hasWrite = p.read, p.hasRead
	}
	if len(parts) < 3 {
		p.trim, p.hasTrim = p.write, p.hasWrite
	}
	return p, nil
}

// parseCPUs reads a list of CPUs, 0-3,6.
func parseCPUs(s string) ([]int, error) {
	var out []int
	for _, e := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ':' || r == ' ' }) {
		lo, hi, isRange := strings.Cut(e, "-")
		a, err := strconv.Atoi(lo)
		b := a
		if err == nil && isRange {
			b, err = strconv.Atoi(hi)
		}
		if err != nil || a < 0 || b < a || b > 1023 {
			return nil, fmt.Errorf("%q is not a list of CPUs; write it as 0-3,6", s)
		}
		for i := a; i <= b && len(out) < 1024; i++ {
			out = append(out, i)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%q names no CPU", s)
	}
	return out, nil
}

// parsePercentiles reads percentile_list.
func parsePercentiles(s string) ([]float64, error) {
	var out []float64
	for _, e := range strings.Split(s, ":") {
		f, err := strconv.ParseFloat(strings.TrimSpace(e), 64)
		if err != nil || !(f > 0 && f <= 100) {
			return nil, fmt.Errorf("%q: a percentile must be above 0 and at most 100", e)
		}
		out = append(out, f)
	}
	if len(out) > maxPercentiles {
		return nil, fmt.Errorf("%d percentiles: there may be at most 20", len(out))
	}
	return out, nil
}

// oneOf returns s if it is one of words, or an error that names the nearest.
func oneOf(s string, words ...string) (string, error) {
	for _, w := range words {
		if s == w {
			return s, nil
		}
	}
	if n := dialect.Nearest(s, words); n != "" {
		return "", fmt.Errorf("%q is not known; did you mean %s?", s, n)
	}
	return "", fmt.Errorf("%q is not one of %s", s, strings.Join(words, ", "))
}
