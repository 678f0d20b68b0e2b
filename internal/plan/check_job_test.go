package plan

import (
	"strings"
	"testing"
)

// TestContradictions: a job that would not do what it says is refused, with its place in
// the file; its neighbours that do are not.
func TestContradictions(t *testing.T) {
	for _, tt := range []struct {
		job string
		// want is the fault, "" for none.
		want string
	}{
		{"rw: randwrite, bs: 1MiB, size: 4KiB", "5:32: workloads.w.size: is smaller than one I/O"},
		{"rw: read, size: 4KiB, numjobs: 4", "5:17: workloads.w.size: less than one block of bs=4096 for each of numjobs=4"},
		{"rw: read, size: 16KiB, numjobs: 4", ""},
		{"rw: read, size: 16KiB, iodepth: 32", "5:30: workloads.w.iodepth: 32 I/Os are never in flight: without runtime a thread does its 4 blocks once"},
		{"rw: read, size: 128KiB, iodepth: 32", ""},
		{"rw: read, size: 128KiB, iodepth: 32, numjobs: 2", "make size 256KiB or more"},
		{"rw: read, size: 16KiB, iodepth: 32, runtime: 20ms", ""},
		{"rw: read, size: 1GiB, bs: 1GiB, iodepth: 64, runtime: 1s", "workloads.w.iodepth: with bs=1073741824 and numjobs=1 the buffers would take more than 8 GiB"},
		{"rw: read, size: 1MiB, offset: 1PiB", "workloads.w.offset: with size 1MiB the file would be larger than"},
		{"rw: write, size: 1MiB, fsync: 1, fdatasync: 1", "5:40: workloads.w.fdatasync: contradicts fsync=1; use one of the two"},
		{"rw: write, size: 1MiB, fdatasync: 1, direct: true", ""},
		{"rw: write, size: 1MiB, sync: sync, fsync: 1", "5:42: workloads.w.fsync: has no effect with sync: sync"},
		{"rw: write, size: 1MiB, sync: sync, end_fsync: true", "end_fsync: has no effect with sync: sync"},
		{"rw: write, size: 1MiB, sync: sync, end_fsync: false", ""},
		{"rw: write, size: 1MiB, sync: dsync, fdatasync: 1", "fdatasync: has no effect with sync: dsync"},
		{"rw: write, size: 1MiB, sync: dsync, fsync: 1", ""},
		{"rw: read, size: 1MiB, rwmixread: 70", "5:29: workloads.w.rwmixread: has no effect on read"},
		{"rw: randrw, size: 1MiB, rwmixread: 100, fsync: 4", "fsync: has no effect with rwmixread 100, which writes nothing"},
		{"rw: randrw, size: 1MiB, rwmixread: 0, fsync: 4", ""},
		{"rw: write, size: 1MiB, number_ios: 10, fsync: 100", "5:46: workloads.w.fsync: never happens: a thread does 10 writes at most; make it 10 or less"},
		{"rw: write, size: 1MiB, number_ios: 100, fsync: 100", ""},
		{"rw: write, size: 64KiB, fdatasync: 100", "fdatasync: never happens: a thread does 16 writes at most"},
		{"rw: write, size: 64KiB, fsync: 100, runtime: 1s", ""},
		{"rw: write, size: 64KiB, fsync: 100, ramp_time: 1s", ""},
		{"rw: read, size: 64KiB, iodepth: 32, io_size: 1MiB", ""},
		{"rw: read, size: 64KiB, io_size: 1KiB", "5:30: workloads.w.io_size: is smaller than one I/O"},
		{"rw: write, size: 1MiB, io_size: 64KiB, fsync: 100", "fsync: never happens: a thread does 16 writes at most"},
		{"rw: write, size: 1MiB, number_ios: 4, io_size: 64KiB, fsync: 5", "fsync: never happens: a thread does 4 writes at most"},
		{"rw: read, size: 1MiB, rate_iops: 2, io_size: 4MiB", "runs for 8m32s"},
		{"rw: read, size: 1MiB, rate_process: linear", "rate_process: has no effect without rate_iops"},
		{"rw: read, size: 1MiB, rate_process: poisson", "rate_process: has no effect without rate_iops"},
		{"rw: read, size: 1MiB, rate_process: poisson, rate_iops: 100", ""},
		{"rw: read, size: 1MiB, random_distribution: \"zipf:1.1\"", "random_distribution: has no meaning with rw=read"},
		{"rw: randread, size: 1MiB, random_distribution: \"zipf:x\"", "the parameter has to be one number"},
		{"rw: randread, size: 1MiB, random_distribution: \"zoned:60/10:40/90\"", ""},
		{"rw: read, size: 1MiB, dedupe_percentage: 10", "dedupe_percentage: needs writes of random data"},
		{"rw: read, size: 1MiB, buffer_compress_percentage: 10", "buffer_compress_percentage: needs writes of random data"},
		{"rw: randwrite, size: 1MiB, buffer_compress_percentage: 0, dedupe_percentage: 100", ""},
		{"rw: read, size: 1MiB, rate_iops: 1, runtime: 20ms", "5:29: workloads.w.rate_iops: is one I/O every 1 s, but the job runs for 20 ms only"},
		{"rw: read, size: 1MiB, rate_iops: 50, runtime: 20ms", ""},
		{"rw: read, size: 1MiB, rate_iops: 1", "5:3: workloads.w: runs for 4m16s, but a trial is ended after 1m0s"},
		{"rw: read, size: 1MiB, rate_iops: 2, number_ios: 1000", "runs for 8m20s"},
		{"rw: read, size: 1MiB, rate_iops: 2, number_ios: 1000, runtime: 1s", ""},
	} {
		_, err := Parse("f", []byte(head+"workloads:\n  w: {"+tt.job+"}\n"))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "f:5:") || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.job, err, tt.want)
		}
		if err != nil && strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("%s: one fault is told several times:\n%v", tt.job, err)
		}
	}
}

// TestContradictionsOfPlans: settings that are sound alone may not go together.
func TestContradictionsOfPlans(t *testing.T) {
	for _, tt := range []struct{ yaml, want string }{
		{"io_engine: psync\nplaces: {dir: {}}\nworkloads: {w: {rw: randread, size: 64MiB, iodepth: 4096, runtime: 1s}}\n",
			"f:5:13: workloads.w: iodepth 4096: with numjobs=1 psync would need 4096 threads"},
		{"places: {tmpfs: {size: 32MiB}}\nworkloads: {w: {rw: read, size: 64MiB}}\n",
			"f:3:18: places.tmpfs.size: holds 32MiB, but the files of its workloads take 64MiB"},
		// Two files stay side by side; two jobs on a file of one size share it.
		{"places: {tmpfs: {size: 80MiB}}\nworkloads: {v: {rw: read, size: 32MiB}, w: {rw: read, size: 64MiB}, x: {rw: write, size: 64MiB}}\n",
			"files of its workloads take 96MiB"},
		{"places: {tmpfs: {size: 96MiB}}\nworkloads: {v: {rw: read, size: 32MiB}, w: {rw: read, size: 64MiB}, x: {rw: write, size: 64MiB}}\n", ""},
		{"places: {dir: {}, tmpfs: {size: 32MiB}}\nworkloads: {v: {kind: wal}, w: {rw: read, size: 64MiB}}\nexclude: [{workload: w, place: tmpfs}]\n", ""},
	} {
		_, err := Parse("f", []byte("name: t\nengines: [host]\n"+tt.yaml))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.yaml, err, tt.want)
		}
	}
}
