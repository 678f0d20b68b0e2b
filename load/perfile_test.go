package load

import (
	"testing"

	"plimsoll/hist"
)

// TestPerFile: the I/Os of each job in each file add up to those of the job.
func TestPerFile(t *testing.T) {
	a, b := written(t, 1<<20), written(t, 1<<20)
	for _, engine := range []string{PSync, IOUring, Null} {
		j := Job{
			RW: RandRW, IODepth: 4, NumJobs: 2, WholeRegion: true, Files: []string{a, b}, FileService: Random, Size: 1 << 20, NumberIOs: 2000,
			IOEngine: engine, PerJob: true, PerFile: true,
		}
		if engine == Null {
			j.Files = []string{"x", "y"}
		}
		res := start(t, j)
		for k, one := range res.Jobs {
			if len(one.Files) != 2 {
				t.Fatalf("%s: job %d has %d files", engine, k, len(one.Files))
			}
			for c := range one.Classes {
				var ops, bytes int64
				var lat hist.Histogram
				for _, f := range one.Files {
					ops, bytes = ops+f.Classes[c].Ops, bytes+f.Classes[c].Bytes
					lat.Merge(f.Classes[c].Lat)
					// Each file gets half of the half: 500, give or take five deviations.
					if n := f.Classes[c].Ops; n < 390 || n > 610 {
						t.Errorf("%s: job %d did %d %ss in one of two files", engine, k, n, one.Classes[c].Name)
					}
				}
				w := one.Classes[c]
				got := [...]uint64{uint64(ops), uint64(bytes), lat.Sum(), lat.Count()}
				if want := [...]uint64{uint64(w.Ops), uint64(w.Bytes), w.Lat.Sum(), w.Lat.Count()}; got != want {
					t.Errorf("%s: job %d: %ss, bytes, sum and number of latencies in the files are %d, want %d", engine, k, w.Name, got, want)
				}
			}
		}
	}
	for _, bad := range []Job{
		{RW: Read, Filename: "f", PerJob: true, PerFile: true},
		{RW: Read, Files: []string{"a", "b"}, PerFile: true},
		{RW: Read, Files: []string{"a", "b"}, PerJob: true, PerFile: true, NumJobs: 64, IODepth: 64, IOEngine: IOUring},
	} {
		if err := bad.Validate(); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
