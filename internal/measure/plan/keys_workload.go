package plan

import (
	"time"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/measure/workload"
)

func workloadsOf(p *Plan) *[]workload.Spec { return &p.Workloads }

// workloads is the table of the keys of workloads.
func workloads() strict.Named[workload.Spec] {
	type W = workload.Spec
	count := func(doc string) strict.Field[W] {
		return strict.Key("count", doc, strict.Integer(1, workload.MaxCount), func(w *W) *int { return &w.Count })
	}
	record := func(doc string) strict.Field[W] {
		return strict.Key("bs", doc, strict.Size(1, workload.MaxBS), func(w *W) *int64 { return &w.BS })
	}
	runtime := func(doc string) strict.Field[W] {
		return strict.Key("runtime", doc, strict.Duration(time.Millisecond, maxTime), func(w *W) *time.Duration { return &w.Runtime })
	}
	reads := strict.Key("reads", "Whether the sources are in the page cache at the start: cold, they are dropped from it before; warm, they are read once before. Default: as they happen to be.", strict.Choice(workload.Cold, workload.Warm), func(w *W) *string { return &w.Reads })
	return strict.Named[W]{
		Name: func(w *W) *string { return &w.Name },
		Entry: strict.Variants[W]{
			What: "workload",
			Kind: func(w *W) *string { return (*string)(&w.Kind) },
			Kinds: []strict.Variant[W]{
				{Kind: string(workload.Block), Section: strict.Section[W]{What: "a block job", Check: checkJob, Fields: jobFields()}},
				{Kind: string(workload.Append), Section: strict.Section[W]{What: "an append workload", Fields: []strict.Field[W]{
					count("How often the file is opened, appended to and closed. Default: 10000."),
					record("Bytes of one line. Default: 64."),
					runtime("Repeats until this time is over. Default: once."),
				}}},
				{Kind: string(workload.WAL), Section: strict.Section[W]{What: "a wal workload", Fields: []strict.Field[W]{
					record("Bytes of one commit. Default: 2300, as in etcd."),
					runtime("How long it commits. Default: 1s."),
				}}},
				{Kind: string(workload.Tree), Section: strict.Section[W]{What: "a tree workload", Fields: []strict.Field[W]{
					count("Source files. Default: 360."),
					record("Mean size of a source file. Default: 16KiB."),
					runtime("Repeats until this time is over. Default: once."),
					reads,
				}}},
				{Kind: string(workload.Command), Section: strict.Section[W]{What: "a command", Check: checkCommand, Fields: append(commandFields(), reads)}},
			},
			Implied: func(string) string { return string(workload.Block) },
		},
	}
}
