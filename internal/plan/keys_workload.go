package plan

import (
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/workload"
	"plimsoll/load"
)

// Bounds of block jobs.
const (
	maxDepth64 = 4096
	maxJobs    = 256
	maxBlock   = 1 << 30
	maxFile    = int64(1) << 50
	maxCount   = 100_000_000
)

func workloadsOf(p *Plan) *[]workload.Spec { return &p.Workloads }

// workloads is the table of the keys of workloads.
func workloads() named[workload.Spec] {
	type W = workload.Spec
	count := func(doc string) field[W] {
		return key("count", doc, integer(1, workload.MaxCount), func(w *W) *int { return &w.Count })
	}
	record := func(doc string) field[W] {
		return key("bs", doc, amount(1, workload.MaxBS), func(w *W) *int64 { return &w.BS })
	}
	runtime := func(doc string) field[W] {
		return key("runtime", doc, duration(time.Millisecond, maxTime), func(w *W) *time.Duration { return &w.Runtime })
	}
	return named[W]{
		name: func(w *W) *string { return &w.Name },
		entry: variants[W]{
			what: "workload",
			kind: func(w *W) *string { return (*string)(&w.Kind) },
			kinds: []variant[W]{
				{string(workload.Block), section[W]{what: "a block job", check: checkJob, fields: jobFields()}},
				{string(workload.Append), section[W]{what: "an append workload", fields: []field[W]{
					count("How often the file is opened, appended to and closed. Default: 10000."),
					record("Bytes of one line. Default: 64."),
					runtime("Repeats until this time is over. Default: once."),
				}}},
				{string(workload.WAL), section[W]{what: "a wal workload", fields: []field[W]{
					record("Bytes of one commit. Default: 2300, as etcd's."),
					runtime("How long it commits. Default: 1s."),
				}}},
				{string(workload.Tree), section[W]{what: "a tree workload", fields: []field[W]{
					count("Source files. Default: 360."),
					record("Mean size of a source file. Default: 16KiB."),
					runtime("Repeats until this time is over. Default: once."),
				}}},
			},
			implied: func(string) string { return string(workload.Block) },
		},
	}
}

// jobFields is the table of the keys of block jobs, in fio's words.
func jobFields() []field[workload.Spec] {
	type W = workload.Spec
	return []field[W]{
		must(key("rw", "The pattern.", choice(load.Read, load.Write, load.RandRead, load.RandWrite, load.RW, load.RandRW), func(w *W) *string { return &w.Job.RW })),
		key("bs", "Bytes of one I/O. Default: 4KiB.", amount(1, maxBlock), func(w *W) *int64 { return &w.Job.BS }),
		key("iodepth", "I/Os in flight for each of numjobs threads. Default: 1.", integer(1, maxDepth64), func(w *W) *int { return &w.Job.IODepth }),
		key("numjobs", "Threads that do the job. Default: 1.", integer(1, maxJobs), func(w *W) *int { return &w.Job.NumJobs }),
		must(key("size", "Bytes of the file that are used; it is laid out first.", amount(1, maxFile), func(w *W) *int64 { return &w.Job.Size })),
		key("offset", "Where in the file the job begins. Default: 0.", amount(0, maxFile), func(w *W) *int64 { return &w.Job.Offset }),
		key("runtime", "The measured time. Default: until as many I/Os were done as size has blocks; each block is touched once, but for rw, whose reads and writes both begin at the start.", duration(time.Millisecond, maxTime), func(w *W) *time.Duration { return &w.Job.Runtime }),
		key("ramp_time", "Unmeasured time before it. Default: 0.", duration(0, maxTime), func(w *W) *time.Duration { return &w.Job.RampTime }),
		key("number_ios", "Ends the job after that many measured I/Os. Default: no such end.", integer[int64](1, 1<<53), func(w *W) *int64 { return &w.Job.NumberIOs }),
		key("direct", "Asks for O_DIRECT. Default: false, which measures the page cache.", boolean(), func(w *W) *bool { return &w.Job.Direct }),
		key("sync", "Opens the file with O_SYNC or O_DSYNC. Default: neither.", choice("sync", "dsync"), func(w *W) *string { return &w.Job.Sync }),
		key("fsync", "Syncs the file after every that many writes. Default: never.", integer(1, maxCount), func(w *W) *int { return &w.Job.Fsync }),
		key("fdatasync", "Like fsync, with fdatasync.", integer(1, maxCount), func(w *W) *int { return &w.Job.FDataSync }),
		key("end_fsync", "Syncs the file once at the end, inside the measured time. Default: false.", boolean(), func(w *W) *bool { return &w.Job.EndFsync }),
		key("io_size", "Ends each thread after that many measured bytes, in place of one pass. Default: no such end.", amount(1, maxFile), func(w *W) *int64 { return &w.Job.IOSize }),
		key("rwmixread", "Percentage of reads of rw and randrw. Default: 50.", percent(), func(w *W) **int { return &w.Job.RWMixRead }),
		key("rate_iops", "I/Os per second of each thread, on a fixed schedule. Default: as fast as iodepth allows.", integer[int64](1, 1<<32), func(w *W) *int64 { return &w.Job.RateIOPS }),
		key("rate_process", "How the I/Os of rate_iops arrive. Default: linear, evenly.", choice(load.Linear, load.Poisson), func(w *W) *string { return &w.Job.RateProcess }),
		key("random_distribution", "How often the blocks of a random pattern are visited, such as zipf:1.1, pareto:0.2, normal:10 or zoned:60/10:40/90. Default: random, all alike.", distribution(), func(w *W) *string { return &w.Job.Distribution }),
		key("buffer_compress_percentage", "Percentage of each written block that is zeros. Default: 0, which can't be compressed.", integer(0, 100), func(w *W) *int { return &w.Job.Compress }),
		key("dedupe_percentage", "Percentage of the writes that repeat one block. Default: 0.", integer(0, 100), func(w *W) *int { return &w.Job.Dedupe }),
		key("randseed", "Makes offsets and data repeatable. Default: a fixed seed.", seed(), func(w *W) *uint64 { return &w.Job.RandSeed }),
	}
}

// distribution is fio's random_distribution.
func distribution() scalar[string] {
	s := words("a distribution such as zipf:1.1", 4096, false)
	parse := s.parse
	s.parse = func(n *yaml.Node) (string, error) {
		v, err := parse(n)
		if err == nil {
			_, err = load.ParseDistribution(v)
		}
		return v, err
	}
	s.json = func() object {
		return object{"type": "string", "pattern": "^(random|zipf|pareto|normal|zoned|zoned_abs)(:.*)?$"}
	}
	return s
}
