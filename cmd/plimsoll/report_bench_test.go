package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"plimsoll/hist"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/threshold"
	"plimsoll/load"
)

// longRun makes a state folder with a run of 90 cells in so many blocks, with the histograms,
// samples and warnings that trials have.
func longRun(b testing.TB, blocks int) (state string, trials int) {
	b.Helper()
	state = b.TempDir()
	db, err := store.Open(filepath.Join(state, "plimsoll.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	begin := time.Date(2026, 11, 21, 15, 30, 0, 0, time.UTC)
	run := record.Run{ID: "20261121-153000-3f9a", Plan: "places", Seed: 1, Blocks: blocks, Status: record.Done, Margin: 0.05, Started: begin, Baseline: map[string]string{}}
	if err := db.PutRun(run); err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for block := range blocks {
		for w := range 10 {
			for place := range 9 {
				t := longTrial(rng, w, place, block)
				t.Run, t.Order, t.Started = run.ID, trials, begin.Add(time.Duration(trials)*time.Second)
				if place == 0 {
					run.Baseline[t.Cell.Workload] = t.Key
				}
				if err := db.PutTrial(t); err != nil {
					b.Fatal(err)
				}
				trials++
			}
		}
	}
	if err := db.PutRun(run); err != nil {
		b.Fatal(err)
	}
	return state, trials
}

// longTrial is one trial of longRun: 100,000 reads in a second of ten samples.
func longTrial(rng *rand.Rand, w, place, block int) record.Trial {
	value := 1e5 * math.Exp(rng.NormFloat64()*0.02)
	h := &hist.Histogram{}
	for range 2000 {
		h.RecordN(int64(1e4*math.Exp(rng.NormFloat64()*0.4)), 50)
	}
	r := workload.Result{IOEngine: "io_uring", Elapsed: time.Second, Classes: []load.Class{{Name: "read", Ops: int64(value), Bytes: 4096 * int64(value), Lat: h}}}
	for i := range 10 {
		r.Samples = append(r.Samples, load.Sample{At: time.Duration(i+1) * 100 * time.Millisecond, Ops: int64(value / 10), Bytes: int64(409.6 * value)})
	}
	c := record.Cell{Workload: fmt.Sprintf("randread-%d", w), Engine: "host", Place: fmt.Sprintf("dir-%d", place), Limits: "none", Clients: 1}
	spec := workload.Spec{Name: c.Workload, Kind: workload.Block, Job: load.Job{RW: load.RandRead, BS: 4096, IODepth: 32, Direct: true, Size: 256 << 20, Runtime: time.Second}}
	t := record.Trial{
		Cell: c, Key: fmt.Sprintf("%s/%s/%s", c.Workload, c.Engine, c.Place), Block: block, Status: record.Done, Wall: time.Second,
		Spec: spec, Metric: spec.Metric(), Value: value, Results: []workload.Result{r},
		Truth: []record.Truth{{AppRead: 4096 * int64(value), Device: "vda", DeviceRead: 4096 * int64(value)}},
		Where: []record.Where{{FSType: "ext4", Options: "rw,relatime", Source: "/dev/vda1", Kernel: "6.1.0", Device: &record.Device{Name: "vda", Size: 64 << 30}}},
	}
	if place%2 == 0 {
		t.Warnings = []record.Warning{{Check: "neighbour", Severity: record.Note, Text: fmt.Sprintf("Work other than the worker's used %d %% of the CPUs.", block%100), Evidence: []byte(fmt.Sprintf(`{"others":%d}`, block%100))}}
	}
	return t
}

// BenchmarkReportOfDatabase10k is 'plimsoll report' of ten thousand trials, from the database
// to the page; with -short of 180.
func BenchmarkReportOfDatabase10k(b *testing.B) {
	blocks := 112
	if testing.Short() {
		blocks = 2
	}
	state, trials := longRun(b, blocks)
	for _, format := range []string{"html", "text"} {
		b.Run(format, func(b *testing.B) {
			for b.Loop() {
				var out, talk bytes.Buffer
				a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &talk}
				if status := a.run(context.Background(), []string{"report", "--state", state, "last", "--format", format}); status != exitDone || out.Len() == 0 {
					b.Fatalf("status %d, %s", status, talk.String())
				}
			}
			b.ReportMetric(float64(trials), "trials")
			b.Log(threshold.Took(fmt.Sprintf("plimsoll report over %d trials, from the database to %s", trials, format), b.Elapsed()/time.Duration(b.N), 2*time.Second))
		})
	}
}

// TestBenchmarkTellsItsGoal: make bench puts the figures beside what is promised.
func TestBenchmarkTellsItsGoal(t *testing.T) {
	out, err := exec.Command(os.Args[0], "-test.run", "^$", "-test.bench", "ReportOfDatabase10k", "-test.benchtime", "1x", "-test.short").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, format := range []string{"html", "text"} {
		want := regexp.MustCompile(`plimsoll report over 180 trials, from the database to ` + format + `: \d+\.\d\d s, target <= 2 s, (met|MISSED)\n`)
		if !want.Match(out) {
			t.Errorf("the benchmark says %q, want %s", out, want)
		}
	}
}
