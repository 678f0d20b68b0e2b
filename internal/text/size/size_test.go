package size

import (
	"math"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", "empty"},
		{"10M", "10MiB for 10485760 bytes or 10MB for 10000000 bytes"},
		{"10k", "10KiB for 10240 bytes or 10kB for 10000 bytes"},
		{"1.5G", "1.5GiB for 1610612736 bytes or 1.5GB for 1500000000 bytes"},
		{"10K", "ambiguous"},
		{"10Mb", "bits"},
		{"10Mbit", "bits"},
		{"10mib", "unknown unit \"mib\": write 10MiB or 10MB"},
		{"10mb", "bits"},
		{"10Mi", "10MiB or 10MB"},
		{"10XB", "no unit of bytes"},
		{"10é", "no unit of bytes"},
		{"-1", "negative"},
		{"-1MiB", "negative"},
		{"+1", "is not a size"},
		{"1e6", "write 1000000"},
		{".5GiB", "is not a size"},
		{"5.GiB", "is not a size"},
		{"1.2.3", "is not a size"},
		{"MiB", "is not a size"},
		{"10 ", "is not a size"},
		{"10  MiB", "no unit of bytes"},
		{" 10", "is not a size"},
		{"0.3KiB", "307.200 bytes"},
		{"1.5", "not a whole number"},
		{"8EiB", "too large"},
		{"9223372036854775808", "too large"},
		{"9.3EB", "too large"},
		{"1MiB/s", "no unit of bytes"},
		{"40 elephants", "no unit of bytes: write KiB"},
		{strings.Repeat("9", 100000), "100000 characters"},
		{"1\x00", "no unit"},
		{"NaN", "is not a size"},
		{"Inf", "is not a size"},
	} {
		got, err := Parse(tt.in)
		if err == nil {
			t.Errorf("Parse(%.20q) = %d, want an error with %q", tt.in, got, tt.want)
			continue
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%.20q): %v, want it to contain %q", tt.in, err, tt.want)
		}
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int64
	}{
		{"0", 0},
		{"4096", 4096},
		{"17B", 17},
		{"4KiB", 4096},
		{"2 KiB", 2048},
		{"10MiB", 10485760},
		{"10MB", 10000000},
		{"10kB", 10000},
		{"10KB", 10000},
		{"1.5GiB", 1610612736},
		{"0.5KiB", 512},
		{"1.0", 1},
		{"7EiB", 7 << 60},
		{"9EB", 9e18},
		{"2TB", 2e12},
		{"3PiB", 3 << 50},
		{"9223372036854775807", math.MaxInt64},
		{"0010", 10},
	} {
		got, err := Parse(tt.in)
		if err != nil || got != tt.want {
			t.Errorf("Parse(%q) = %d, %v, want %d", tt.in, got, err, tt.want)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, tt := range []struct {
		in   int64
		want string
	}{
		{0, "0"}, {1, "1"}, {2300, "2300"}, {4096, "4KiB"}, {10485760, "10MiB"},
		{1 << 62, "4EiB"}, {math.MaxInt64, "9223372036854775807"}, {-1024, "-1KiB"}, {math.MinInt64, "-8EiB"},
	} {
		if got := Format(tt.in); got != tt.want {
			t.Errorf("Format(%d) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestParseRate(t *testing.T) {
	for _, bad := range []string{"", "/s", "10M/s", "10MiB/sec", "10Mb/s", "10MiB/s/s", "-1/s", "100 IOPS"} {
		if got, err := ParseRate(bad); err == nil {
			t.Errorf("ParseRate(%q) = %d, want an error", bad, got)
		}
	}
	for in, want := range map[string]int64{"10MiB/s": 10 << 20, "10MiB": 10 << 20, "10 MB/s": 1e7, "4096": 4096} {
		if got, err := ParseRate(in); err != nil || got != want {
			t.Errorf("ParseRate(%q) = %d, %v, want %d", in, got, err, want)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", "empty"},
		{"400", "write 400s, 400ms or 400us"},
		{"1.5", "no unit"},
		{"00", "no unit"},
		{"-1s", "negative"},
		{"+1s", "write 1s"},
		{"5 s", "write 5s"},
		{"5sec", "write 5s"},
		{"5secs", "write 5s"},
		{"2min", "write 2m"},
		{"20msec", "write 20ms"},
		{"1d", "24h"},
		{"5S", "write 5s"},
		{"soon", "a number and a unit"},
		{"99999999999h", "too long"},
		{strings.Repeat("1s", 100), "200 characters"},
	} {
		if got, err := ParseDuration(tt.in); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseDuration(%q) = %v, %v, want an error with %q", tt.in, got, err, tt.want)
		}
	}
	for in, want := range map[string]time.Duration{
		"0": 0, "400ms": 400 * time.Millisecond, "1m30s": 90 * time.Second, "2h": 2 * time.Hour, "1.5s": 1500 * time.Millisecond, "392µs": 392 * time.Microsecond,
	} {
		if got, err := ParseDuration(in); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for _, tt := range []struct {
		in   time.Duration
		want string
	}{
		{0, "0s"}, {time.Minute, "1m"}, {2 * time.Hour, "2h"}, {90 * time.Second, "1m30s"},
		{10 * time.Second, "10s"}, {time.Hour + time.Second, "1h0m1s"}, {20 * time.Minute, "20m"}, {400 * time.Millisecond, "400ms"},
	} {
		if got := FormatDuration(tt.in); got != tt.want {
			t.Errorf("FormatDuration(%d) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestPrint(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Bytes(0), "0 B"},
		{Bytes(392), "392 B"},
		{Bytes(1023), "1023 B"},
		{Bytes(1024), "1 KiB"},
		{Bytes(1024*1024 - 1), "1 MiB"},
		{Bytes(1288490189), "1.2 GiB"},
		{Bytes(-4096), "-4 KiB"},
		{Bytes(math.MaxInt64), "8 EiB"},
		{Bytes(math.MinInt64), "-8 EiB"},
		{Rate(1288490188.8), "1.2 GiB/s"},
		{Rate(0.25), "0.25 B/s"},
		{Rate(math.NaN()), "n/a"},
		{Rate(math.Inf(1)), "n/a"},
		{Rate(math.MaxFloat64)[:3], "155"},
		{Count(12679), "12.7 k"},
		{Count(999.6), "1 k"},
		{Count(999), "999"},
		{Count(99.96), "100"},
		{Count(9.996), "10"},
		{Count(1.1e6), "1.1 M"},
		{Count(0.0001), "0"},
		{Count(-0.0001), "0"},
		{Count(0.00123), "0.001"},
		{Count(math.Inf(-1)), "n/a"},
		{Duration(0), "0 s"},
		{Duration(87), "87 ns"},
		{Duration(392 * time.Microsecond), "392 µs"},
		{Duration(999999), "1 ms"},
		{Duration(1234 * time.Millisecond), "1.23 s"},
		{Duration(59960 * time.Millisecond), "1 min"},
		{Duration(250 * time.Second), "4 min 10 s"},
		{Duration(time.Hour - time.Millisecond), "1 h"},
		{Duration(125 * time.Minute), "2 h 5 min"},
		{Duration(-time.Second), "-1 s"},
		{Duration(math.MinInt64), "-2562047 h 47 min"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

// FuzzParse checks that nothing panics, that what is accepted is 0 or more, survives
// Format, and matches the patterns that the schema publishes.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "10M", "1.5GiB", "2 KiB", "9223372036854775807", "0.3KiB", "10MiB/s", "1e9", "-1", "4kB"} {
		f.Add(s)
	}
	pattern, ratePattern := regexp.MustCompile(Pattern), regexp.MustCompile(RatePattern)
	f.Fuzz(func(t *testing.T, s string) {
		n, err := Parse(s)
		if err == nil {
			if n < 0 || !pattern.MatchString(s) {
				t.Fatalf("Parse(%q) = %d, outside of its own pattern", s, n)
			}
			if back, err := Parse(Format(n)); err != nil || back != n {
				t.Fatalf("Parse(Format(%d)) = %d, %v", n, back, err)
			}
		}
		if r, err := ParseRate(s); err == nil && (r < 0 || !ratePattern.MatchString(s)) {
			t.Fatalf("ParseRate(%q) = %d, outside of its own pattern", s, r)
		}
	})
}

func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"", "400", "400ms", "1m30s", "5 s", "1d", "-1s", "9h.5m"} {
		f.Add(s)
	}
	pattern := regexp.MustCompile(DurationPattern)
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDuration(s)
		if err != nil {
			return
		}
		if d < 0 || !pattern.MatchString(s) {
			t.Fatalf("ParseDuration(%q) = %v, outside of its own pattern", s, d)
		}
		if back, err := ParseDuration(FormatDuration(d)); err != nil || back != d {
			t.Fatalf("ParseDuration(FormatDuration(%v)) = %v, %v", d, back, err)
		}
	})
}

// FuzzPrint checks that no figure panics or prints an exponent or a sign of
// nothing.
func FuzzPrint(f *testing.F) {
	for _, v := range []float64{0, math.Copysign(0, -1), 1, 999.95, 1023.99, 1e300, math.Inf(1), math.NaN()} {
		f.Add(v, int64(v))
	}
	f.Fuzz(func(t *testing.T, v float64, n int64) {
		for _, s := range []string{Bytes(n), Rate(v), Count(v), Duration(time.Duration(n))} {
			if s == "" || strings.HasPrefix(s, "-0 ") || strings.Contains(s, "e+") {
				t.Fatalf("printed %q for %v, %d", s, v, n)
			}
		}
	})
}
