package report

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/threshold"
)

// BenchmarkReport10k: ten thousand trials in at most 2 s, 90 cells in 112 blocks; with -short in 2.
func BenchmarkReport10k(b *testing.B) {
	f := newFixture()
	f.run.Blocks, f.histogram = 112, 1000
	if testing.Short() {
		f.run.Blocks = 2
	}
	var places []fixturePlace
	for i := range 9 {
		p := thePlaces[i%len(thePlaces)]
		p.place += map[bool]string{true: "-2"}[i >= len(thePlaces)]
		places = append(places, p)
	}
	places[8].engine = "oci"
	f.fill(places, 10)
	for i := range f.trials {
		if i%7 == 0 {
			f.trials[i].Warnings = []record.Warning{{Check: "busy", Severity: record.Note, Text: fmt.Sprintf("another process used the disk: %d I/Os", i)}}
		}
	}
	b.ResetTimer()
	var page strings.Builder
	for b.Loop() {
		page.Reset()
		if err := (HTML{}).Render(&page, NewSet(Build(f.run, f.trials, Options{}))); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(f.trials)), "trials")
	b.ReportMetric(float64(page.Len())/(1<<20), "MiB/page")
	b.Log(threshold.Took(fmt.Sprintf("report over %d trials, from its records to the page", len(f.trials)), b.Elapsed()/time.Duration(b.N), 2*time.Second))
}

// TestBenchmarkTellsItsGoal: make bench puts the figure beside what is promised.
func TestBenchmarkTellsItsGoal(t *testing.T) {
	out, err := exec.Command(os.Args[0], "-test.run", "^$", "-test.bench", "Report10k", "-test.benchtime", "1x", "-test.short").CombinedOutput()
	if want := regexp.MustCompile(`report over 180 trials, .*: \d+\.\d\d s, target <= 2 s, (met|MISSED)\n`); err != nil || !want.Match(out) {
		t.Errorf("the benchmark says %v, %q, want %s", err, out, want)
	}
}
