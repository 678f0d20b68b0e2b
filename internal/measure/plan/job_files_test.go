package plan

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/load"
)

// TestSeveralFiles: a job goes through all of its files, in its threads and through a mapping, too, and the next one finds them.
func TestSeveralFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, job := range []string{
		"rw: randread, size: 1MiB, files: 3", "rw: read, size: 1MiB, files: 3, numjobs: 2, file_service_type: sequential", "rw: randwrite, size: 1MiB, files: 3, io_engine: mmap",
	} {
		r := runJob(t, dir, job)
		if n, _ := r.Bytes(); r.Ops() != 3*256 || r.File.Size != 3<<20 || n > 3<<20 {
			t.Errorf("%s: %d I/Os in files of %d bytes, want %d in %d", job, r.Ops(), r.File.Size, 3*256, 3<<20)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 3 {
		t.Fatalf("%q, %v, want three files", files, err)
	}
	for _, f := range files {
		if st, err := os.Stat(f); err != nil || st.Size() != 1<<20 {
			t.Errorf("%s: %v, %v, want 1 MiB", f, st, err)
		}
	}
	if r := runJob(t, dir, "rw: read, size: 1MiB, io_engine: mmap"); r.IOEngine != load.MMap {
		t.Errorf("%s did the I/O, want mmap", r.IOEngine)
	}
}

// TestRatesApart: reads and writes each keep their own rate.
func TestRatesApart(t *testing.T) {
	t.Parallel()
	r := runJob(t, t.TempDir(), "rw: randrw, size: 1MiB, iodepth: 8, rate_iops: 400, write_rate_iops: 100, runtime: 1s")
	want := map[string]int64{"read": 400, "write": 100}
	for _, c := range r.Classes {
		if most := want[c.Name]; c.Ops < most*8/10 || c.Ops > most*11/10 {
			t.Errorf("%d %ss in a second, want %d", c.Ops, c.Name, most)
		}
	}
	p, err := Parse("f", []byte(head+"workloads:\n  w: {rw: randrw, size: 1MiB, rate: 1MiB, write_rate: 3MiB}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := scheduled(p.Workloads[0].Job).Round(time.Millisecond); got != 250*time.Millisecond {
		t.Errorf("1 MiB at 4 MiB/s is to take %v", got)
	}
}
