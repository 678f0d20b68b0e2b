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

// TestManyTrials: a page of 25,000 trials does not embed them, and says where they are; the JSON has them all.
func TestManyTrials(t *testing.T) {
	f := newFixture()
	f.run.Blocks, f.histogram = 1100, 200
	f.fill(thePlaces, 3)
	s := NewSet(Build(f.run, f.trials, Options{}))
	page := render(t, "html", Terminal{}, s)
	if most := 5 << 20; len(page) > most {
		t.Errorf("the page has %d bytes, want at most %d", len(page), most)
	}
	if want := "its 26400 trials: plimsoll results export " + f.run.ID + " has them"; !strings.Contains(page, want) {
		t.Errorf("the page does not say %q", want)
	}
	if got := strings.Count(render(t, "json", Terminal{}, s), `"started_ms"`); got != len(f.trials) {
		t.Errorf("the JSON has %d trials, want %d", got, len(f.trials))
	}
}

// BenchmarkReport100k: hundred thousand trials in at most 3 s, 88 cells in 1,137 blocks.
func BenchmarkReport100k(b *testing.B) {
	f := newFixture()
	f.run.Blocks, f.histogram = 1137, 200
	f.fill(thePlaces, 11)
	b.ResetTimer()
	size := 0
	for b.Loop() {
		var page strings.Builder
		if err := (HTML{}).Render(&page, NewSet(Build(f.run, f.trials, Options{}))); err != nil {
			b.Fatal(err)
		}
		size = page.Len()
	}
	b.ReportMetric(float64(len(f.trials)), "trials")
	b.ReportMetric(float64(size)/(1<<20), "MiB/page")
	b.Log(threshold.Took(fmt.Sprintf("report over %d trials, from its records to the page", len(f.trials)), b.Elapsed()/time.Duration(b.N), 3*time.Second))
}

// TestBenchmarkTellsItsGoal: make bench puts the figure beside what is promised.
func TestBenchmarkTellsItsGoal(t *testing.T) {
	out, err := exec.Command(os.Args[0], "-test.run", "^$", "-test.bench", "Report10k", "-test.benchtime", "1x", "-test.short").CombinedOutput()
	if want := regexp.MustCompile(`report over 180 trials, .*: \d+\.\d\d s, target <= 2 s, (met|MISSED)\n`); err != nil || !want.Match(out) {
		t.Errorf("the benchmark says %v, %q, want %s", err, out, want)
	}
}
