package fio

import (
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// notInNames are the characters that names of a plan's workloads can't have.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// A Planned is the jobs of a test as parts of a plan.
type Planned struct {
	// Workloads are the jobs by name. Jobs that are equal in a plan appear once.
	Workloads []workload.Spec
	// Where is each workload's position in the job file: "file.fio:7".
	Where []string
	// IOEngine is the engine that all of them use; "" if they use several, which the workloads then name, or mmap.
	IOEngine string
	// Folders are the folders in filename, directory and job names, as written.
	Folders []string
	// Notes say where a plan differs from fio, one a line.
	Notes []string
}

func (p *Planned) note(text string) {
	if !slices.Contains(p.Notes, text) {
		p.Notes = append(p.Notes, text)
	}
}

// Plan turns the jobs into workloads of a plan, which measures each alone, in files of its own. sizeOf is the length
// of an existing regular file, for jobs without a size. Where a plan can measure the same I/O in another way it adds
// a note; otherwise it returns a *dialect.UsageError.
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
			p.differences(c, stage)
			if err := p.folders(t, c.job, stage); err != nil {
				return nil, err
			}
			if k := slices.IndexFunc(p.Workloads, func(o workload.Spec) bool { return same(o, w) }); k >= 0 {
				p.note(c.job.name + " is the same in a plan as " + jobs[k].job.name + " does: it is measured once, as " + p.Workloads[k].Name)
				continue
			}
			base := PlanName(c.job.name)
			w.Name = base
			for n := 2; taken[w.Name]; n++ {
				w.Name = base + "-" + strconv.Itoa(n)
			}
			taken[w.Name] = true
			p.Workloads, p.Where, jobs = append(p.Workloads, w), append(p.Where, c.job.where), append(jobs, c)
		}
	}
	for _, n := range t.notes {
		p.note(n)
	}
	p.shareEngine()
	return p, nil
}

// maxFolders bounds the folders of a plan: each adds places.
const maxFolders = 4

// folders adds the folders of the job's files.
func (p *Planned) folders(t *Test, j *job, stage []*clone) error {
	for _, c := range j.clones(stage) {
		for _, f := range c.files {
			dir := path.Dir(f)
			switch {
			case t.isDevice != nil && t.isDevice(f) || strings.HasPrefix(f, "/dev/") && !strings.HasPrefix(f, "/dev/shm/"):
				p.note(f + " is a device: a plan measures files in its places, and not the device")
				continue
			case dir == "." || slices.Contains(p.Folders, dir):
				continue
			}
			if p.Folders = append(p.Folders, dir); len(p.Folders) > maxFolders {
				return dialect.Usagef(j.where, "%s is one folder too many: a plan makes places of up to %d; give the jobs fewer folders, or split the file", dir, maxFolders)
			}
		}
	}
	return nil
}

// shareEngine makes the workloads' I/O engine the plan's, if all have the same and a plan may have it.
func (p *Planned) shareEngine() {
	first := p.Workloads[0].Job.IOEngine
	if first == load.MMap || first == load.Null || slices.ContainsFunc(p.Workloads, func(w workload.Spec) bool { return w.Job.IOEngine != first }) {
		return
	}
	p.IOEngine = first
	for i := range p.Workloads {
		p.Workloads[i].Job.IOEngine = ""
	}
}

// differences notes what fio does besides the job's I/O and a plan doesn't.
func (p *Planned) differences(c *clone, stage []*clone) {
	j := c.job
	if c.load.IOEngine == load.Null {
		p.note(j.name + ": the null engine does no I/O: its cells show the generator itself in each place, and no storage")
	}
	if c.load.SyncReads {
		p.note(j.name + ": a plan syncs only after writes, fio also after reads")
	}
	if c.load.StartDelay > 0 {
		p.note(j.name + ": startdelay has no effect in a plan, which measures each job alone")
	}
	if c.spec.Least != nil {
		p.note(j.name + ": rate_min and rate_iops_min end no job in a plan: a slow place is a result")
	}
	if j.exitall {
		p.note(j.name + ": exitall has no effect in a plan, which measures each job alone")
	}
	if len(c.files) > 0 && len(c.job.clones(stage)) > 1 && c.job.ownFiles(stage) {
		p.note(j.name + ": the " + strconv.Itoa(j.numjobs) + " clones share files in a plan, each in its own part, rather than having their own files")
	}
	if !j.direct && (c.load.DropCache || c.load.Hint != "") {
		p.note("a plan drops no cached pages before buffered jobs and gives the kernel no hints, as invalidate and fadvise_hint do")
	}
	if c.load.Refill != "" {
		p.note(j.name + ": a plan's workload makes its data before it is measured, fio while it measures")
	}
	if j.unlink {
		p.note(j.name + ": unlink has no effect in a plan, whose files are gone with each block")
	}
}

// PlanName turns a name of fio's into a plan's: letters, digits, - and _.
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

// same reports whether two workloads differ only in their names.
func same(a, b workload.Spec) bool {
	a.Name = b.Name
	return reflect.DeepEqual(a, b)
}
