package fio

import (
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestIdleProf: --idle-prof has fio's keys and lines, and the figures are those of the processors.
func TestIdleProf(t *testing.T) {
	t.Parallel()
	job := []string{"--name=a", "--filename=f", "--rw=randread", "--size=1m", "--time_based", "--runtime=1"}
	idle := func(t *testing.T, do func(*testing.T, string, ...string) string, how string) map[string]float64 {
		var d struct {
			Idle map[string]float64 `json:"cpu_idleness"`
		}
		if err := json.Unmarshal([]byte(do(t, t.TempDir(), append(slices.Clone(job), "--idle-prof="+how, "--output-format=json")...)), &d); err != nil {
			t.Fatal(err)
		}
		return d.Idle
	}
	test := func(how string, f func(t *testing.T)) {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			f(t)
		})
	}
	keys := func(t *testing.T, how string) {
		theirs, ours := idle(t, peer, how), idle(t, run, how)
		if a, b := slices.Sorted(maps.Keys(theirs)), slices.Sorted(maps.Keys(ours)); !slices.Equal(a, b) || len(a) < 3 {
			t.Errorf("%s: keys %v, fio's %v", how, b, a)
		}
		sum, n := 0.0, 0.0
		for key, v := range ours {
			if strings.HasPrefix(key, "cpu-") {
				sum, n = sum+v, n+1
			}
			if v < 0 || v > 100 && key != "unit_mean" && key != "unit_stddev" {
				t.Errorf("%s: %s is %v", how, key, v)
			}
		}
		if n > 0 && math.Abs(sum/n-ours["system"]) > 0.01 {
			t.Errorf("the mean of %v is not that of the system", ours)
		}
		if ours["unit_mean"] <= 0 {
			t.Errorf("no unit of work: %v", ours)
		}
	}
	test("system", func(t *testing.T) { keys(t, "system") })
	test("percpu", func(t *testing.T) { keys(t, "percpu") })
	lines := func(text string) string {
		_, section, _ := strings.Cut(text, "CPU idleness:")
		return regexp.MustCompile(`[0-9.]+`).ReplaceAllString(strings.TrimRight(section, "\n"), "N")
	}
	for _, how := range []string{"percpu", "calibrate"} {
		test(how+" in words", func(t *testing.T) {
			args := []string{"--idle-prof=" + how}
			if how != "calibrate" {
				args = append(args, job...)
			}
			if a, b := lines(peer(t, t.TempDir(), args...)), lines(run(t, t.TempDir(), args...)); a != b || a == "" {
				t.Errorf("fio prints %q, ours %q", a, b)
			}
		})
	}
	if _, err := Parse([]string{"--idle-prof=some", "--name=a", "--size=1m"}, Source{}); err == nil {
		t.Error("--idle-prof=some is taken")
	}
}
