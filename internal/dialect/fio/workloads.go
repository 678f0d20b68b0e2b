package fio

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"

	"plimsoll/internal/dialect"
	"plimsoll/internal/workload"
)

// notInNames are what the names of a plan's workloads don't have.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// A Planned is the jobs of a test as a plan has them.
type Planned struct {
	// Workloads are the jobs by their names. Jobs that are the same to a plan are one.
	Workloads []workload.Spec
	// IOEngine is the engine that all of them ask for.
	IOEngine string
	// Notes say what a plan does in another way than fio would, one a line.
	Notes []string
}

func (p *Planned) note(text string) {
	if !slices.Contains(p.Notes, text) {
		p.Notes = append(p.Notes, text)
	}
}

// Plan is the jobs as workloads of a plan, which measures each alone, in files of its own. sizeOf is the length of a regular file that
// is there, for jobs without a size. What a plan can't do as fio does is a note where the same I/O is measured, and else a
// *dialect.UsageError.
func (t *Test) Plan(sizeOf func(name string) (int64, error)) (*Planned, error) {
	p := &Planned{}
	taken := map[string]bool{}
	var jobs []*clone
	for i, stage := range t.stages {
		first := heads(stage)
		if len(first) > 1 {
			p.note(strconv.Itoa(len(first)) + " jobs of stage " + strconv.Itoa(i+1) + " start together with fio; a plan measures each alone")
		}
		for _, c := range first {
			w, err := c.workload(t, stage, sizeOf)
			if err != nil {
				return nil, err
			}
			switch e := engines[c.job.ioengine]; {
			case p.IOEngine == "":
				p.IOEngine = e
			case p.IOEngine != e:
				return nil, dialect.Usagef(c.job.where, "ioengine=%s: a plan has one I/O engine for all of its workloads; give all jobs the same", c.job.ioengine)
			}
			p.differences(c, stage)
			if k := slices.IndexFunc(p.Workloads, func(o workload.Spec) bool { return same(o, w) }); k >= 0 {
				p.note(c.job.name + " does in a plan what " + jobs[k].job.name + " does: it is measured once, as " + p.Workloads[k].Name)
				continue
			}
			base := PlanName(c.job.name)
			w.Name = base
			for n := 2; taken[w.Name]; n++ {
				w.Name = base + "-" + strconv.Itoa(n)
			}
			taken[w.Name] = true
			p.Workloads, jobs = append(p.Workloads, w), append(jobs, c)
		}
	}
	for _, n := range t.notes {
		p.note(n)
	}
	return p, nil
}

// differences notes what fio does with a job beside its I/O and a plan doesn't.
func (p *Planned) differences(c *clone, stage []*clone) {
	j := c.job
	if c.load.SyncReads {
		p.note(j.name + ": a plan syncs after writes, and not after reads, too")
	}
	if c.load.StartDelay > 0 {
		p.note(j.name + ": startdelay has no effect in a plan, which measures each job alone")
	}
	if j.exitall {
		p.note(j.name + ": exitall has no effect in a plan, which measures each job alone")
	}
	if j.filename != "" || j.directory != "" {
		p.note("filename and directory name nothing in a plan: it makes a file for the jobs in each of its places")
	}
	if len(c.job.clones(stage)) > 1 && c.job.ownFiles(stage) {
		p.note(j.name + ": the " + strconv.Itoa(j.numjobs) + " clones have a part of one file each in a plan, in place of a file each")
	}
	if !j.direct && (c.load.DropCache || c.load.Hint != "") {
		p.note("a plan drops no cached pages before buffered jobs and gives the kernel no hints, as invalidate and fadvise_hint do")
	}
	if c.load.Refill != "" {
		p.note(j.name + ": a plan's workload makes its data before it is measured, and the job with fio in the measured time")
	}
	if j.unlink {
		p.note(j.name + ": unlink has no effect in a plan, whose files are gone with each block")
	}
}

// PlanName is a name of fio's as those of a plan are: letters, digits, - and _.
func PlanName(s string) string {
	const most = 50
	if s = notInNames.ReplaceAllString(s, "_"); s == "" || s[0] == '_' || s[0] == '-' {
		s = "job" + s
	}
	return s[:min(len(s), most)]
}

// heads are the first clones of the stage's jobs.
func heads(stage []*clone) (out []*clone) {
	for _, c := range stage {
		if c.number == 0 {
			out = append(out, c)
		}
	}
	return out
}

// same reports whether two workloads differ in their names only.
func same(a, b workload.Spec) bool {
	a.Name = b.Name
	return reflect.DeepEqual(a, b)
}
