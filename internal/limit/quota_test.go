package limit

import (
	"math"
	"testing"
)

// TestCPUQuota: a quota is rounded, as int64(0.29*100000) is 28999; the ends of what is taken are quotas that the kernel takes.
func TestCPUQuota(t *testing.T) {
	for _, x := range []struct {
		cpus             float64
		period           int64
		quota, per, nano int64
	}{
		{0.29, 0, 29000, 100_000, 290_000_000},
		{0.57, 100_000, 57000, 100_000, 570_000_000},
		{1.15, 0, 115_000, 100_000, 1_150_000_000},
		{2.3, 0, 230_000, 100_000, 2_300_000_000},
		{1.0000001, 0, 100_000, 100_000, 1_000_000_000},
		{1.000006, 0, 100_001, 100_000, 1_000_010_000},
		{0.29, 50_000, 14500, 50_000, 290_000_000},
		{0.05, 10_000, 5000, 100_000, 50_000_000},
		{MinCPUs, 0, 1000, 100_000, 10_000_000},
		{MinCPUs, 50_000, 1000, 100_000, 10_000_000},
		{MinCPUs, 1_000_000, 10_000, 1_000_000, 10_000_000},
		{MaxCPUs, 0, 409_600_000, 100_000, 4_096_000_000_000},
	} {
		quota, per := CPUQuota(x.cpus, x.period)
		if nano := NanoCPUs(x.cpus); quota != x.quota || per != x.per || nano != x.nano {
			t.Errorf("CPUQuota(%v, %d) = %d, %d and NanoCPUs %d, want %d, %d, %d", x.cpus, x.period, quota, per, nano, x.quota, x.per, x.nano)
		}
		if !SameCPUs(x.cpus, CPUsOf(quota, per), per) || SameCPUs(x.cpus, CPUsOf(quota+1, per), per) {
			t.Errorf("SameCPUs is wrong of %v and its quota %d of %d", x.cpus, quota, per)
		}
	}
	// What two decimals say is that quota, whatever a float64 makes of it, and back.
	for n := int64(1); n <= 100*int64(MaxCPUs); n++ {
		cpus := float64(n) / 100
		if quota, _ := CPUQuota(cpus, 0); quota != n*1000 || CPUsOf(quota, 0) != cpus {
			t.Fatalf("CPUQuota(%v) = %d, which is %v", cpus, quota, CPUsOf(quota, 0))
		}
	}
	for _, none := range []int64{0, -1, math.MinInt64} {
		if got := CPUsOf(none, 100_000); got != 0 {
			t.Errorf("CPUsOf(%d) = %v", none, got)
		}
	}
}

// TestCPUWords: what is less than the least quota, or more than the most, is refused, however it is written; all else is a quota that the
// kernel takes.
func TestCPUWords(t *testing.T) {
	for text, want := range map[string]int64{
		"0.005": 0, "0.0099999": 0, "0.00": 0, "4096.001": 0, "4097": 0,
		"0.01": 1000, "0.010": 1000, "0.0100049": 1000, "0.010006": 1001, "1.0000001": 100_000, ".5": 50_000, "0.29": 29000, "4096": 409_600_000,
	} {
		l, err := Parse(CPUs, text)
		if (err == nil) != (want != 0) {
			t.Errorf("Parse(%q) = %v, %v", text, l.CPUs, err)
		}
		if quota, _ := CPUQuota(l.CPUs, 0); err == nil && quota != want {
			t.Errorf("%q is a quota of %d, want %d", text, quota, want)
		}
	}
}
