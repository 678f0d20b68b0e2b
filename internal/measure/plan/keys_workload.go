package plan

import (
	"time"

	"plimsoll/internal/measure/workload"
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
	reads := key("reads", "Whether the sources are in the page cache when the time begins: cold, they are dropped from it; warm, they are read before. Default: as they happen to be.", choice(workload.Cold, workload.Warm), func(w *W) *string { return &w.Reads })
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
					reads,
				}}},
				{string(workload.Command), section[W]{what: "a command", check: checkCommand, fields: append(commandFields(), reads)}},
			},
			implied: func(string) string { return string(workload.Block) },
		},
	}
}
