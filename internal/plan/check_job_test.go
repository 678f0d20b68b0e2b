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
		{"rw: read, size: 1MiB, bssplit: 4KiB/50:8KiB/50, bs: 4KiB", "5:55: workloads.w.bs: contradicts bssplit"},
		{"rw: read, size: 1MiB, bssplit: 4KiB/50:8KiB/50", ""},
		{"rw: read, size: 1MiB, bssplit: \"4KiB/100,8KiB/100\"", "bssplit: has sizes of reads and of writes, but read does only one of them"},
		{"rw: randrw, size: 1MiB, bssplit: \"4KiB/100,8KiB/100\"", ""},
		{"rw: read, size: 1MiB, bssplit: 4KiB/50:8KiB/40", "bssplit: the shares have to add up to 100 percent"},
		{"rw: randrw, size: 1MiB, bsrange: 4KiB-16KiB", ""},
		{"rw: read, size: 1MiB, bsrange: 4KiB-16KiB, bs: 4KiB", "workloads.w.bs: contradicts bsrange"},
		{"rw: read, size: 1MiB, bsrange: 4KiB-16KiB, bssplit: 4KiB/100", "bsrange: contradicts bssplit"},
		{"rw: read, size: 1MiB, bsrange: 1MiB-2MiB", "size: is smaller than one I/O (bsrange goes up to 2097152 bytes)"},
		{"rw: read, size: 1MiB, direct: true, bsrange: 1000-4000", "bsrange: direct I/O needs sizes that are multiples of 512"},
		{"rw: read, size: 1MiB, bsrange: 4KiB", "bsrange: wants two sizes such as 4KiB-64KiB"},
		{"rw: read, size: 1MiB, bsrange: 4k-64k", "bsrange: "},
		{"rw: read, size: 1MiB, bsrange: 4KiB-10KiB", "the second size has to be a multiple of the first"},
		{"rw: read, size: 1MiB, bsrange: 64KiB-4KiB", "the second size has to be a multiple of the first"},
		{"rw: read, size: 1MiB, bsrange: 1KiB-65KiB", "up to 64 times the first: use bssplit"},
		{"rw: read, size: 1MiB, bsrange: 1GiB-2GiB", "out of range"},
		{"rw: write, size: 1MiB, buffer_pattern: 0xdeadbeef", ""},
		{"rw: write, size: 1MiB, buffer_pattern: some text", ""},
		{"rw: write, size: 1MiB, buffer_pattern: 0xabc", `buffer_pattern: "0xabc": wants two hexadecimal digits for each byte`},
		{"rw: write, size: 1MiB, buffer_pattern: 1234", `buffer_pattern: "1234" is a number: write its bytes as in 0x04d2`},
		{"rw: write, size: 1MiB, buffer_pattern: [1]", "buffer_pattern: wants bytes such as 0xdeadbeef, or a text, got"},
		{"rw: write, size: 1MiB, buffer_pattern: 0x", `buffer_pattern: "0x" has 0 bytes: wants 1 to 512`},
		{"rw: read, size: 1MiB, buffer_pattern: abc", "buffer_pattern: has no effect on read"},
		{"rw: write, size: 1MiB, buffer_pattern: abc, zero_buffers: true", "buffer_pattern: contradicts zero_buffers"},
		{"rw: write, size: 1MiB, zero_buffers: false, buffer_pattern: abc", "buffer_pattern: contradicts zero_buffers"},
		{"rw: write, size: 1MiB, buffer_pattern: abc, dedupe_percentage: 10", "dedupe_percentage: needs writes of random data"},
		{"rw: read, size: 1MiB, cpus_allowed: 0", ""},
		{"rw: read, size: 1MiB, cpus_allowed: \"0-1,3\"", ""},
		{"rw: read, size: 1MiB, cpus_allowed: -1", "cpus_allowed: wants numbers of processors such as 0 or 0-3,5"},
		{"rw: read, size: 1MiB, cpus_allowed: 3-1", "the range 3-1 goes down"},
		{"rw: read, size: 1MiB, cpus_allowed: \"0-3,2\"", "processor 2 is given twice"},
		{"rw: read, size: 1MiB, cpus_allowed: 1024", "processors have numbers from 0 to 1023"},
		{"rw: read, size: 1MiB, bssplit: 4KiB/50:2MiB/50", "5:17: workloads.w.size: is smaller than one I/O (bssplit goes up to 2097152 bytes)"},
		{"rw: read, size: 1MiB, direct: true, bssplit: 4KiB/50:1000/50", "bssplit: direct I/O needs sizes that are multiples of 512"},
		{"rw: randread, size: 1MiB, bssplit: 4KiB/50:64KiB/50, iodepth: 32", "iodepth: 32 I/Os are never in flight: without runtime a thread does its 16 blocks once"},
		{"rw: write, size: 1MiB, bssplit: 4KiB/50:64KiB/50, fsync: 256", ""},
		{"rw: write, size: 1MiB, bssplit: 4KiB/50:64KiB/50, fsync: 257", "fsync: never happens: a thread does 256 writes at most"},
		{"rw: read, size: 1MiB, blockalign: 4KiB", "blockalign: has no meaning with rw=read"},
		{"rw: randread, size: 1MiB, blockalign: 4KiB", "blockalign: has no effect on a job that visits each block once"},
		{"rw: randread, size: 1MiB, blockalign: 4KiB, runtime: 1s", ""},
		{"rw: randread, size: 1MiB, blockalign: 4KiB, runtime: 1s, random_map: true", "blockalign: has no effect on a job that visits each block once"},
		{"rw: randread, size: 1MiB, blockalign: 100, runtime: 1s, direct: true", "blockalign: direct I/O needs a multiple of 512"},
		{"rw: read, size: 1MiB, loops: 3", ""},
		{"rw: read, size: 1MiB, loops: 3, runtime: 1s", "loops: has no meaning with runtime"},
		{"rw: read, size: 1MiB, loops: 3, number_ios: 10", "loops: has no effect with number_ios"},
		{"rw: write, size: 64KiB, loops: 3, fsync: 48", ""},
		{"rw: write, size: 64KiB, loops: 3, fsync: 49", "fsync: never happens: a thread does 48 writes at most"},
		{"rw: read, size: 1MiB, loops: 100, rate_iops: 100", "runs for 4m16s"},
		{"rw: read, size: 1MiB, rate: 100KiB", ""},
		{"rw: read, size: 1MiB, rate: 10KiB", "runs for 1m42.4s"},
		{"rw: read, size: 1MiB, rate: 10KiB, runtime: 1s", ""},
		{"rw: read, size: 1MiB, rate: 1KiB, runtime: 1s", "rate: is one I/O every 4 s, but the job runs for 1 s only"},
		{"rw: read, size: 1MiB, rate: 10KiB, rate_iops: 5, runtime: 1s", "rate: contradicts rate_iops=5"},
		{"rw: read, size: 1MiB, rate: 1MiB/s, rate_process: poisson", ""},
		{"rw: read, size: 1MiB, percentage_random: 50", "percentage_random: has no meaning with rw=read"},
		{"rw: randread, size: 1MiB, percentage_random: 50", "percentage_random: contradicts a job that visits each block once"},
		{"rw: randread, size: 1MiB, percentage_random: 50, runtime: 1s", ""},
		{"rw: randread, size: 1MiB, random_map: true", "random_map: has no effect without runtime"},
		{"rw: randread, size: 1MiB, random_map: true, runtime: 1s", ""},
		{"rw: read, size: 1MiB, random_map: true, runtime: 1s", "random_map: has no meaning with rw=read"},
		{"rw: randread, size: 1MiB, random_map: true, runtime: 1s, bssplit: 4KiB/50:8KiB/50", "random_map: can't be kept with I/Os of several sizes"},
		{"rw: randread, size: 1MiB, random_map: true, runtime: 1s, random_distribution: zipf", "random_distribution: contradicts random_map"},
		{"rw: read, size: 1MiB, thinktime: 1ms", ""},
		{"rw: read, size: 1MiB, thinktime: 1ms, thinktime_spin: 2ms", "thinktime_spin: has to be from 0 to thinktime=1ms"},
		{"rw: read, size: 1MiB, thinktime_spin: 2ms", "thinktime_spin: has to be from 0 to thinktime=0s"},
		{"rw: read, size: 1MiB, thinktime_blocks: 2", "thinktime_blocks: has to be over 0 and needs thinktime"},
		{"rw: read, size: 1MiB, thinktime: 1s, runtime: 1s", "thinktime: is as long as the job runs (1 s): it would do 1 I/O and then nothing"},
		{"rw: read, size: 1MiB, thinktime: 1s", "runs for 4m15s"},
		{"rw: read, size: 1MiB, thinktime: 1s, thinktime_blocks: 8", ""},
		{"rw: read, size: 1MiB, zero_buffers: true", "zero_buffers: has no effect on read"},
		{"rw: write, size: 1MiB, zero_buffers: true", ""},
		{"rw: write, size: 1MiB, zero_buffers: true, dedupe_percentage: 10", "dedupe_percentage: needs writes of random data"},
		{"rw: randread, size: 1MiB, verify: crc32c, runtime: 1s, bssplit: 4KiB/50:8KiB/50", ""},
		{"rw: randwrite, size: 1MiB, verify: crc32c", ""},
		{"rw: randrw, size: 1MiB, verify: crc32c", "verify: of randrw would meet blocks that are just being written"},
		{"rw: randwrite, size: 1MiB, verify: crc32c, runtime: 1s", "verify: reads back what was written, and finds a lost write only if each block is written once"},
		{"rw: write, size: 1MiB, verify: crc32c, io_size: 2MiB", "verify: reads back"},
		{"rw: write, size: 1MiB, verify: crc32c, loops: 2", "verify: reads back"},
		{"rw: write, size: 1MiB, verify: crc32c, bssplit: 4KiB/50:8KiB/50", "verify: reads back the whole region"},
		{"rw: write, size: 1MiB, verify: crc32c, zero_buffers: true", "verify: every block has to be its own"},
		{"rw: read, size: 1MiB, bs: 1000, verify: crc32c", "verify: all sizes and offsets have to be multiples of 512"},
		{"rw: read, size: 1MiB, runtime: 5s, steady_state: {round: 1s}", ""},
		{"rw: read, size: 1MiB, steady_state: {round: 1s}", "5:29: workloads.w.steady_state: needs a runtime: the longest time"},
		{"rw: read, size: 1MiB, runtime: 4s, steady_state: {round: 1s}", "steady_state: 5 rounds of 1 s take 5 s, but runtime, the longest time, is 4 s"},
		{"rw: read, size: 1MiB, runtime: 5s, number_ios: 9, steady_state: {round: 1s}", "steady_state: ends the job, and so do number_ios"},
		{"rw: read, size: 1MiB, runtime: 5s, io_size: 9MiB, steady_state: {round: 1s}", "steady_state: ends the job, and so do number_ios"},
		{"rw: write, size: 1MiB, runtime: 5s, end_fsync: true, steady_state: {round: 1s}", "steady_state: ends the job, and so do number_ios"},
		{"rw: read, size: 1MiB, runtime: 5s, rate_iops: 5, steady_state: {round: 100ms}", "steady_state: at this rate not every round of 100 ms has an I/O: make the round 200 ms or more"},
		{"rw: read, size: 1MiB, runtime: 20m, steady_state: {round: 100ms}", "there would be more than 10000"},
		{"rw: read, size: 1MiB, runtime: 2m, steady_state: {round: 10s}", "runs for 2m0s, but a trial is ended after 1m0s: raise timeout"},
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
