package plan

import (
	"errors"
	"strings"
	"testing"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/limit"
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
	for kv, want := range map[[2]string]string{
		{"memory", "64M"}:         "64M",
		{"memory", "1MiB"}:        "no container starts with so little",
		{"memory", ""}:            "is empty",
		{"memory", "[64MiB]"}:     "[64MiB]",
		{"memory", "a: b: c"}:     "a: b: c",
		{"cpus", "many"}:          "is no number of CPUs: write 0.01 to 4096, such as 1.5",
		{"cpus", "0"}:             "0 is not a limit",
		{"cpu_shares", "1.5"}:     "is no whole number",
		{"memmory", "64MiB"}:      "did you mean memory?",
		{"write_iops", "1"}:       "write 2 to 4294967294",
		{"io_maxiops", "0"}:       "write 1 to 4294967294, such as 500",
		{"io_maxbandwidth", "5m"}: "5m",
		{"io_maxbandwidth", "-1"}: "negative",
	} {
		err := SetLimit(new(limit.Limits), kv[0], kv[1], "--flag")
		var e *strict.Error
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), "--flag: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("SetLimit(%q) = %v, want %q", kv, err, want)
		}
	}
	if keys := LimitKeys(); strings.Join(keys, " ") != "read_bps write_bps read_iops write_iops weight latency memory cpus cpu_shares io_maxiops io_maxbandwidth device_wide" {
		t.Error(keys)
	}
}
