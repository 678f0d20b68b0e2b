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
		{"--runtime=13d --steadystate=iops:2% --steadystate_duration=60", 0, "steadystate needs a runtime of at most 12.1 days"},
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

// A log without a value has the job's name, in a file; on a line the next word is its value. Both are fio's ways.
func TestLogsWithoutAName(t *testing.T) {
	test, err := Parse([]string{"x.fio"}, memory(map[string]string{"x.fio": "[job]\nrw=read\nsize=1m\nwrite_bw_log\nwrite_lat_log\nwrite_iops_log=\nlog_avg_msec=100\n"}, nil))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range test.stages[0][0].logs() {
		names = append(names, l.name)
	}
	if got := strings.Join(names, " "); got != "job_bw.1.log job_iops.1.log job_lat.1.log job_clat.1.log job_slat.1.log" {
		t.Error(got)
	}
	test, err = Parse(strings.Fields("--name=job --rw=read --size=1m --log_avg_msec=100 --write_bw_log next"), Source{})
	if err != nil || test.stages[0][0].logs()[0].name != "next_bw.1.log" {
		t.Errorf("on a line: %+v, %v", test, err)
	}
}

// With a range of delays each clone starts at a time of its own within it.
func TestStartDelayRange(t *testing.T) {
	test, err := Parse(strings.Fields("--name=a --rw=read --size=1m --numjobs=50 --startdelay=1-5"), Source{})
	if err != nil {
		t.Fatal(err)
	}
	late, seen := 0, map[time.Duration]bool{}
	for _, c := range test.stages[0] {
		d := c.spec.Job.StartDelay
		if d < time.Second || d > 5*time.Second {
			t.Errorf("a clone starts after %v", d)
		}
		if seen[d] = true; d > 3*time.Second {
			late++
		}
	}
	if len(seen) < 45 || late < 10 || late > 40 {
		t.Errorf("50 clones have %d delays, %d of them in the second half", len(seen), late)
	}
	for v, want := range map[string]string{"5-1": "end is below its start", "1-x": `"x"`, "-5": `""`, "1-2-3": `"2-3"`} {
		if _, err := Parse([]string{"--name=a", "--rw=read", "--size=1m", "--startdelay=" + v}, Source{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("startdelay=%s: %v, want %q", v, err, want)
		}
	}
}
