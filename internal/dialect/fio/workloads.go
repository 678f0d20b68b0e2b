package fio

import (
	"regexp"
	"strconv"

	"plimsoll/internal/dialect"
	"plimsoll/internal/workload"
	"plimsoll/load"
)

// notInNames are what the names of a plan's workloads don't have.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// Workloads are the jobs as workloads of a plan, by their names, and the I/O engine that all of them ask for. A plan measures each alone, in
// files of its own: what that leaves of a job is in notes, and what it can't keep is a *dialect.UsageError.
func (t *Test) Workloads() (all []workload.Spec, engine string, notes []string, err error) {
	taken := map[string]bool{}
	for i, stage := range t.stages {
		if jobs := heads(stage); len(jobs) > 1 {
			notes = append(notes, strconv.Itoa(len(jobs))+" jobs of stage "+strconv.Itoa(i+1)+" start together with fio; a plan measures each alone")
		}
		for _, c := range heads(stage) {
			w, err := c.workload()
			if err != nil {
				return nil, "", nil, err
			}
			if c.load.SyncReads {
				notes = append(notes, c.job.name+": a plan syncs after writes, and not after reads, too")
			}
			base := PlanName(c.job.name)
			w.Name = base
			for n := 2; taken[w.Name]; n++ {
				w.Name = base + "-" + strconv.Itoa(n)
			}
			taken[w.Name] = true
			switch e := engines[c.job.ioengine]; {
			case engine == "":
				engine = e
			case engine != e:
				return nil, "", nil, dialect.Usagef(c.job.where, "ioengine=%s: a plan has one I/O engine for all of its workloads; give all jobs the same", c.job.ioengine)
			}
			all = append(all, w)
		}
	}
	return all, engine, append(notes, t.notes...), nil
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

// workload is the clone's job, with as many threads as it has clones.
func (c *clone) workload() (workload.Spec, error) {
	j, l, spec := c.job, c.load, c.spec
	bad := func(format string, args ...any) (workload.Spec, error) {
		return workload.Spec{}, dialect.Usagef(j.where, format, args...)
	}
	switch {
	case l.IOEngine == load.Null || l.IOEngine == load.MMap:
		return bad("ioengine=%s: a plan's workloads use io_uring, libaio or a synchronous engine", j.ioengine)
	case c.device || l.Size == 0 || spec.SizePercent > 0 || spec.OffsetPercent > 0 || j.offsetInc.percent:
		return bad("a plan makes the job's file in each place: give a size in bytes")
	case l.AnyAlign:
		return bad("direct I/O of less than whole sectors is none of a plan's workload")
	case len(c.files) > 1:
		return bad("%d files: a plan's workload has one", len(c.files))
	case j.runtime > 0 && !j.timeBased:
		return bad("runtime is only a limit without time_based: add time_based, or leave runtime out")
	case j.numjobs > 1 && (!j.random() || !j.timeBased || j.filename == "" || j.offsetInc.n > 0):
		return bad("numjobs=%d: a plan's threads share one file, and only random jobs with time_based do as fio's clones do in it; leave it out, and run the plan with --set clients=[%[1]d]", j.numjobs)
	case j.mapped() != l.RandomMap || j.random() && !j.timeBased && !l.RandomMap:
		return bad("offsets that repeat need time_based in a plan, whose passes visit each block once")
	case spec.Steady != nil || spec.Least != nil || spec.EndAll || spec.FilesOnly || l.Fill || j.countsErrors() || spec.AtEnd || l.FlowWeight > 0 || l.StartDelay > 0 || spec.PreRead:
		return bad("steadystate, rate_min, exitall, create_only, fill_device, continue_on_error, file_append, flow, startdelay and pre_read are none of a plan's workload")
	case j.refill != nil && *j.refill && j.dedupe == 0 && j.refills():
		return bad("refill_buffers: a plan's workload makes its data before it is measured; leave it out")
	case j.verify && (j.verifyOnly || !j.doVerify || !j.writes()):
		return bad("verify: a plan's workload reads back what it wrote itself; use verify with write or randwrite alone")
	case j.verify && (j.reads() || j.random() && (!j.mapped() || j.percRandom != nil) || j.hasRWNumber && j.rwNumber != 0 || j.backlog > 0):
		return bad("verify: a plan's workload writes all of its region and reads all of it back; leave out reads, norandommap, several sizes, verify_backlog and what else leaves blocks out")
	}
	l.KeepWritten = false
	l.Filename, l.FileService, l.Hint, l.IOEngine = "", "", "", ""
	l.Refill = ""
	l.DropCache, l.SyncReads, l.SampleEvery, l.RandSeed = false, false, 0, j.randseed
	l.NumJobs = j.numjobs
	if !j.timeBased {
		l.Runtime = 0
		l.RandomMap = false // A pass has one.
		if l.IOSize == l.Size/l.BS*l.BS && j.ioSize == (amount{}) {
			l.IOSize = 0 // That is the pass.
		}
	}
	if len(l.ReadSplit)+len(l.WriteSplit) > 0 {
		l.BS = 0
	}
	if l.Loops == 1 {
		l.Loops = 0
	}
	return workload.Spec{Kind: workload.Block, Job: l}, nil
}
