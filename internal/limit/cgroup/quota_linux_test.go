package cgroup

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
)

// TestV1Quota: numbers of CPUs are the nearest quota in the kernel's own file, at both ends of what is taken too, are read back as what
// the same number asks for, and change nothing the second time.
func TestV1Quota(t *testing.T) {
	l := newLab(t, hierarchy.CPU)
	if l == nil {
		return
	}
	g, err := l.own.Group(hierarchy.CPU)
	if err != nil {
		t.Fatal(err)
	}
	if g.Version != 1 {
		t.Skip("needs the cpu controller of version 1: of version 2 there are fixtures")
	}
	file := func(name string) string {
		b, err := os.ReadFile(filepath.Join(g.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	for _, x := range []struct {
		period      int64
		cpus        float64
		quota, kept string
	}{
		{100_000, limit.MinCPUs, "1000", "100000"},
		{100_000, 0.010006, "1001", "100000"},
		{100_000, 0.29, "29000", "100000"},
		{100_000, 0.57, "57000", "100000"},
		{100_000, 1.0000001, "100000", "100000"},
		{100_000, 1.15, "115000", "100000"},
		{100_000, 2.3, "230000", "100000"},
		{100_000, limit.MaxCPUs, "409600000", "100000"},
		{50_000, limit.MinCPUs, "1000", "100000"},
		{50_000, 0.29, "14500", "50000"},
		{20_000, 0.03, "3000", "100000"},
		{1000, limit.MaxCPUs, "4096000", "1000"},
		{1_000_000, limit.MinCPUs, "10000", "1000000"},
		{1_000_000, limit.MaxCPUs, "4096000000", "1000000"},
	} {
		l.hold(Want{Change: limit.Clear(limit.CPUs)})
		if err := os.WriteFile(filepath.Join(g.Dir, cfsPeriod), []byte(strconv.FormatInt(x.period, 10)), 0); err != nil {
			t.Fatal(err)
		}
		want := Want{Change: limit.Change{Set: limit.Limits{CPUs: x.cpus}}}
		l.hold(want)
		if quota, period := file(cfsQuota), file(cfsPeriod); quota != x.quota || period != x.kept {
			t.Errorf("%v CPUs with a period of %d are %s of %s, want %s of %s", x.cpus, x.period, quota, period, x.quota, x.kept)
		}
		now := l.states()[0].Limits.CPUs
		if kept, _ := strconv.ParseInt(x.kept, 10, 64); !limit.SameCPUs(now, x.cpus, kept) {
			t.Errorf("%v CPUs are read back as %v", x.cpus, now)
		}
		if n := l.hold(want); n != 0 {
			t.Errorf("%v CPUs again: %d writes", x.cpus, n)
		}
		if n := l.hold(Want{Change: limit.Change{Set: limit.Limits{CPUs: now}}}); n != 0 {
			t.Errorf("%v CPUs as read back, %v: %d writes", x.cpus, now, n)
		}
	}
	l.hold(Want{Change: limit.Clear(limit.CPUs)})
	if quota := file(cfsQuota); quota != "-1" {
		t.Errorf("cleared, the quota is %s", quota)
	}
}
