package report

import (
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// everydayWords says in a few words what programs do such work, or how it feels; empty if no few words do. The workload's What is
// the exact description.
func everydayWords(s workload.Spec) string {
	switch s.Kind {
	case workload.Append:
		return "log lines"
	case workload.WAL:
		return "commits"
	case workload.Tree:
		return "small files"
	case workload.HTTP:
		return "requests"
	case workload.Block, "":
		return everydayJob(s.Job)
	}
	return ""
}

// Sizes of I/O that people call small and large.
const (
	smallIO = 16 << 10
	largeIO = 256 << 10
)

// everydayJob names the size of a job's I/Os and their direction, and of small ones whether many are under way at once.
func everydayJob(j load.Job) string {
	what, ok := map[string]string{
		load.Read: "reads", load.RandRead: "reads", load.Write: "writes", load.RandWrite: "writes",
		load.RW: "reads and writes", load.RandRW: "reads and writes",
	}[j.RW]
	bs := orDefault(j.BS, 4096)
	many := max(j.IODepth, 1)*max(j.NumJobs, 1) > 1
	switch {
	case !ok || len(j.ReadSplit)+len(j.WriteSplit) > 0:
		return ""
	case bs >= largeIO:
		return "large " + what
	case bs > smallIO:
		return ""
	case many:
		return "many small " + what
	}
	return "single small " + what
}

// nameEveryday gives each workload its everyday words, unless another workload has the same: they would tell them apart no more.
func (r *Report) nameEveryday(g *gathered) {
	count := map[string]int{}
	words := make([]string, len(r.Workloads))
	for i, w := range r.Workloads {
		if cells := g.cells[w.Name]; len(cells) > 0 {
			words[i] = everydayWords(cells[0].trials[0].Spec)
		}
		count[words[i]]++
	}
	for i := range r.Workloads {
		if count[words[i]] == 1 {
			r.Workloads[i].everyday = words[i]
		}
	}
}
