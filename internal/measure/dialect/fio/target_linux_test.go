package fio

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestLatencyTargets: a job ends at the depth that fio's comes to where that is certain, with the results of the last window, and
// in an error where fio's does.
func TestLatencyTargets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{"--ioengine=libaio --iodepth=8 --direct=1 --latency_target=60s --latency_window=50ms", "depth 8, target 60000000000, 100 % in 50000, one window true"},
		{"--ioengine=io_uring --iodepth=4 --latency_target=60s --latency_window=50000 --latency_percentile=99.9", "depth 4, target 60000000000, 99.9 % in 50000, one window true"},
		{"--ioengine=psync --latency_target=60s --latency_window=50ms", "depth 1, target 60000000000, 100 % in 50000, one window true"},
		{"--ioengine=libaio --iodepth=8 --direct=1 --latency_target=1 --latency_window=20ms --latency_percentile=90", "depth 1, target 1000, 90 % in 20000, one window false"},
		{"--ioengine=libaio --iodepth=4 --direct=1 --latency_target=60s --latency_window=50ms --latency_run=1", "depth 4, target 60000000000, 100 % in 50000, one window false"},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			for i, do := range []func(*testing.T, string, ...string) string{peer, run} {
				out := do(t, t.TempDir(), append([]string{"--name=a", "--rw=randread", "--bs=4k", "--size=1m", "--time_based", "--runtime=1", "--output-format=json"}, strings.Fields(c.line)...)...)
				var d struct {
					Jobs []struct {
						Depth, Target, Window int64
						Percent               float64
						Read                  struct{ Runtime int64 }
					}
				}
				for _, name := range []string{"depth", "target", "window"} {
					out = strings.ReplaceAll(out, `"latency_`+name+`"`, `"`+name+`"`)
				}
				out = strings.ReplaceAll(out, `"latency_percentile"`, `"percent"`)
				if err := json.Unmarshal([]byte(out), &d); err != nil {
					t.Fatal(err)
				}
				j := d.Jobs[0]
				got := fmt.Sprintf("depth %d, target %d, %g %% in %d, one window %t", j.Depth, j.Target, j.Percent, j.Window, j.Read.Runtime < 900)
				if got != c.want {
					t.Errorf("%s: %s, want %s", []string{"fio", "ours"}[i], got, c.want)
				}
			}
		})
	}
	line := strings.Fields("--name=a --rw=randread --bs=4k --size=1m --direct=1 --ioengine=libaio --iodepth=4 --time_based --runtime=1 --latency_target=1 --latency_window=50ms")
	if _, err := tryRun(t, t.TempDir(), nil, line...); err == nil || !strings.Contains(err.Error(), "at depth 1, and latency_target is 1µs") {
		t.Errorf("too slow at depth 1: %v", err)
	}
}
