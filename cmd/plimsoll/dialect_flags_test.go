package main

import (
	"slices"
	"testing"

	"plimsoll/internal/limit"
)

// TestWindowsFlags: the published line's caps, beside a line of diskspd.
func TestWindowsFlags(t *testing.T) {
	f, rest, err := new(app).splitDialect([]string{"--io-maxiops", "100", "-b8K", "--isolation=process", "--io-maxbandwidth", "5MiB", "--cpus=1.5", "--memory", "4GiB", "iotest.dat"})
	if err != nil {
		t.Fatal(err)
	}
	want := limit.Limits{Name: "memory=4GiB cpus=1.5 io_maxiops=100 io_maxbandwidth=5MiB", SystemIOPS: 100, SystemBPS: 5 << 20, CPUs: 1.5, Memory: 4 << 30}
	if f.limits != want || f.isolation != "process" || !slices.Equal(rest, []string{"-b8K", "iotest.dat"}) {
		t.Errorf("splitDialect = %+v with %q, want %+v", f, rest, want)
	}
}
