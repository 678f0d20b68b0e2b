package plan

import (
	"errors"
	"strings"
	"testing"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/limit"
	"plimsoll/internal/testkit/golden"
)

func TestSetLimit(t *testing.T) {
	var got limit.Limits
	for _, kv := range [][2]string{{"memory", "64MiB"}, {"cpus", "0.5"}, {"cpu_shares", "512"}, {"write_bps", "10MiB/s"}} {
		if err := SetLimit(&got, kv[0], kv[1], "--x"); err != nil {
			t.Errorf("SetLimit(%q) = %v", kv, err)
		}
	}
	if want := (limit.Limits{Memory: 64 << 20, CPUs: 0.5, CPUShares: 512, WriteBPS: 10 << 20}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	var sheet golden.Sheet
	for _, kv := range [][2]string{
		{"memory", "64M"},
		{"memory", "1MiB"},
		{"memory", ""},
		{"memory", "[64MiB]"},
		{"memory", "a: b: c"},
		{"cpus", "many"},
		{"cpus", "0"},
		{"cpu_shares", "1.5"},
		{"memmory", "64MiB"},
		{"write_iops", "1"},
		{"io_maxiops", "0"},
		{"io_maxbandwidth", "5m"},
		{"io_maxbandwidth", "-1"},
	} {
		err := SetLimit(new(limit.Limits), kv[0], kv[1], "--flag")
		var e *strict.Error
		if !errors.As(err, &e) {
			t.Errorf("SetLimit(%q) = %v, want a %T", kv, err, e)
		}
		sheet.Add(kv, err)
	}
	sheet.Check(t, "refused-limits.txt")
	if keys := LimitKeys(); strings.Join(keys, " ") != "read_bps write_bps read_iops write_iops weight latency memory cpus cpu_shares io_maxiops io_maxbandwidth device_wide" {
		t.Error(keys)
	}
}
