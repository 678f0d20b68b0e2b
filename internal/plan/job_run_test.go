package plan

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/workload"
)

// runJob runs the workload w of a plan in dir.
func runJob(t *testing.T, dir, job string) *workload.Result {
	t.Helper()
	p, err := Parse("f", []byte(head+"workloads:\n  w: {"+job+"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	spec, _ := p.Workload("w")
	run, err := workload.Prepare(t.Context(), spec, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	r, err := run.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPoissonKeepsTheRate: over its whole time a job with random arrivals does as many I/Os as one with
// even ones, give or take the square root of that.
func TestPoissonKeepsTheRate(t *testing.T) {
	const rate = 4000
	r := runJob(t, t.TempDir(), "rw: randread, size: 1MiB, iodepth: 8, rate_iops: 4000, rate_process: poisson, runtime: 1s")
	// A slow machine does not start all that were due.
	got := float64(r.Ops() + r.Missed)
	// Five standard deviations, and what was in flight at the end.
	if most := 5*math.Sqrt(rate) + 8; math.Abs(got-rate) > most {
		t.Errorf("%v I/Os came in a second, want %d +- %.0f", got, rate, most)
	}
	if r.Ops() == 0 {
		t.Error("none was done")
	}
}

// TestIOSizeEndsTheJob: at less than a pass and at more.
func TestIOSizeEndsTheJob(t *testing.T) {
	dir := t.TempDir()
	for _, size := range []string{"64KiB", "4MiB"} {
		want := map[string]int64{"64KiB": 16, "4MiB": 1024}[size]
		if r := runJob(t, dir, "rw: read, size: 1MiB, io_size: "+size); r.Ops() != want {
			t.Errorf("io_size %s: %d I/Os, want %d", size, r.Ops(), want)
		}
	}
}

// TestWrittenDataIsAsAsked: zeros for a compressor, copies for deduplication.
func TestWrittenDataIsAsAsked(t *testing.T) {
	const bs = 4096
	for _, tt := range []struct {
		job           string
		zeros, copies float64 // shares of the data
	}{
		{"", 0, 0},
		{", buffer_compress_percentage: 50", 0.5, 0},
		{", dedupe_percentage: 50", 0, 0.5},
	} {
		dir := t.TempDir()
		runJob(t, dir, "rw: write, size: 4MiB"+tt.job)
		files, err := filepath.Glob(filepath.Join(dir, "block-*.dat"))
		if err != nil || len(files) != 1 {
			t.Fatalf("files %v, %v", files, err)
		}
		data, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		zeros := float64(bytes.Count(data, []byte{0})) / float64(len(data))
		seen, copies := map[string]bool{}, 0.0
		for at := 0; at < len(data); at += bs {
			if b := string(data[at : at+bs]); seen[b] {
				copies += float64(bs) / float64(len(data))
			} else {
				seen[b] = true
			}
		}
		if math.Abs(zeros-tt.zeros) > 0.02 || math.Abs(copies-tt.copies) > 0.1 {
			t.Errorf("%q: %.2f of the data are zeros and %.2f copies, want %v and %v", tt.job, zeros, copies, tt.zeros, tt.copies)
		}
	}
}
