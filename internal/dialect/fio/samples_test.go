package fio

import (
	"strings"
	"testing"
	"time"
)

// A run of any length is taken, as fio takes it: it used to be refused from 6.07 days on, in words of no option of fio's.
func TestLongRunsHaveLongerSamples(t *testing.T) {
	for _, c := range []struct {
		line  string
		every time.Duration
		fails string
	}{
		{"--runtime=10", 500 * time.Millisecond, ""},
		{"--runtime=524288", 500 * time.Millisecond, ""}, // 2^20 samples
		{"--runtime=524289", time.Second, ""},
		{"--runtime=7d", time.Second, ""},
		{"--runtime=364d", 30 * time.Second, ""},
		{"--runtime=7d --write_bw_log=x --log_avg_msec=1000", time.Second, ""},
		{"--runtime=7d --write_bw_log=x --log_avg_msec=100", 0, "log_avg_msec=100 makes more than 1048576 lines in the runtime; make it 577 or more"},
		{"--runtime=7d --write_bw_log=x --log_avg_msec=577", 577 * time.Millisecond, ""},
		{"--runtime=7d --steadystate=iops:2% --steadystate_duration=60", time.Second, ""},
		{"--runtime=13d --steadystate=iops:2% --steadystate_duration=60", 0, "steadystate judges each second of a runtime of up to 12.1 days"},
	} {
		test, err := Parse(append(strings.Fields("--name=a --size=1m --time_based"), strings.Fields(c.line)...), Source{})
		switch {
		case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)):
			t.Errorf("%s: %v, want %q", c.line, err, c.fails)
		case c.fails == "" && err != nil:
			t.Errorf("%s: %v", c.line, err)
		case c.fails == "" && test.stages[0][0].spec.Job.SampleEvery != c.every:
			t.Errorf("%s: samples of %v, want %v", c.line, test.stages[0][0].spec.Job.SampleEvery, c.every)
		}
	}
}
