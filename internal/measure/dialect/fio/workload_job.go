package fio

import (
	"fmt"
	"math"
	"reflect"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// clones are those of the job in its stage.
func (j *job) clones(stage []*clone) (out []*clone) {
	for _, c := range stage {
		if c.job == j {
			out = append(out, c)
		}
	}
	return out
}

// files is the number of files of all the job's clones.
func (j *job) files(stage []*clone) int {
	seen := map[string]bool{}
	for _, c := range j.clones(stage) {
		for _, f := range c.files {
			seen[f] = true
		}
	}
	return len(seen)
}

// ownFiles reports whether the job's clones share no files.
func (j *job) ownFiles(stage []*clone) bool {
	return j.files(stage) == j.numjobs*len(j.clones(stage)[0].files)
}

// workload turns the job into a plan's workload. c is the job's first clone; each clone becomes a thread.
func (c *clone) workload(t *Test, stage []*clone, sizeOf func(string) (int64, error)) (workload.Spec, error) {
	j := c.job
	bad := func(format string, args ...any) (workload.Spec, error) {
		return workload.Spec{}, dialect.Usagef(j.where, format, args...)
	}
	if why := c.unplanned(); why != "" {
		return bad("%s", why)
	}
	if n, each := j.files(stage), len(c.files); n != each && !j.ownFiles(stage) {
		return bad("%d files: %d clones share some of them; in a plan, threads share all files or none", n, j.numjobs)
	}
	var l load.Job
	for i, o := range j.clones(stage) {
		r, err := o.regionIn(t, sizeOf)
		if err != nil {
			return bad("%v", err)
		}
		if i == 0 {
			l = r
			continue
		}
		if i == 1 {
			l.OffsetIncrement = r.Offset - l.Offset
		}
		if r.Offset != l.Offset+int64(i)*l.OffsetIncrement || l.OffsetIncrement < 0 || !alike(l, r) {
			return bad("numjobs=%d: in a plan, clones may differ only in their files and in a whole offset_increment", j.numjobs)
		}
	}
	if len(c.files) > 0 && j.ownFiles(stage) && j.numjobs > 1 && l.OffsetIncrement < l.Size {
		l.OffsetIncrement += l.Size
	}
	l.NumJobs, l.RandSeed = j.numjobs, j.randseed
	w := workload.Spec{Kind: workload.Block, Job: planned(l, j)}
	if w.Job.IOEngine = engines[j.ioengine]; len(c.files) > 1 {
		w.Files = len(c.files)
	}
	return w, nil
}

// alike reports whether two clones do the same, apart from place and time.
func alike(a, b load.Job) bool {
	a.Filename, a.Files, a.Offset, a.OffsetIncrement, a.RandSeed, a.StartDelay = b.Filename, b.Files, b.Offset, b.OffsetIncrement, b.RandSeed, b.StartDelay
	return reflect.DeepEqual(a, b)
}

// regionIn returns the clone's job with its offset and size in bytes. 100 % is the length that earlier jobs give the file, or else
// the length that it has.
func (c *clone) regionIn(t *Test, sizeOf func(string) (int64, error)) (load.Job, error) {
	s := c.spec
	s.Job = c.load
	if s.Job.Size > 0 && !s.Relative() {
		return s.Job, nil
	}
	name := c.files[0]
	n := max(t.need[name], c.spec.Size)
	if n == 0 {
		var err error
		if n, err = sizeOf(name); err != nil {
			return load.Job{}, err
		}
		for _, other := range c.files[1:] {
			if o, err := sizeOf(other); err != nil || o != n {
				return load.Job{}, fmt.Errorf("%s and %s differ in length; a plan's workload needs files of one length: give a size", name, other)
			}
		}
	}
	if err := s.Within(n, name); err != nil {
		return load.Job{}, err
	}
	if s.Job.Size == 0 {
		s.Job.Size = n - s.Job.Offset
	}
	return s.Job, nil
}

// planned drops from a load job what a plan decides itself, and normalizes the rest to a plan's form.
func planned(l load.Job, j *job) load.Job {
	l.KeepWritten = false
	files := int64(max(len(l.Files), 1))
	if l.FileService == load.RoundRobin {
		l.FileService = ""
	}
	l.Filename, l.Files, l.Hint, l.Refill = "", nil, "", ""
	l.DropCache, l.SyncReads, l.SampleEvery, l.StartDelay = false, false, 0, 0
	repeats := j.random() && !l.RandomMap
	if j.runtime == 0 {
		l.Runtime = 0
		l.RandomMap = false // Implied by a pass.
		l.NoRandomMap = repeats && j.norandommap && len(l.ReadSplit)+len(l.WriteSplit) == 0 && l.Distribution == "" && !j.alignedApart()
		if l.IOSize == l.Size/l.BS*l.BS*files && j.ioSize == (amount{}) && l.NumberIOs == 0 {
			l.IOSize = 0 // Equal to the pass.
		}
	}
	l.WholeRegion = l.NumJobs > 1 && l.OffsetIncrement == 0 && (!j.random() || l.Runtime == 0)
	if len(l.ReadSplit)+len(l.WriteSplit) > 0 {
		l.BS = 0
	}
	if l.NumberIOs > 0 && l.Loops > 1 && l.IOSize > 0 {
		l.IOSize *= min(l.Loops, math.MaxInt64/l.IOSize)
	}
	if l.Loops == 1 || l.NumberIOs > 0 {
		l.Loops = 0 // Contained in both ends.
	}
	if l.BlockAlign == l.BS && !repeats {
		l.BlockAlign = 0
	}
	return l
}

// unplanned is the reason why the clone's job can't be a plan's workload, "" if it can.
func (c *clone) unplanned() string {
	j, spec := c.job, c.spec
	for _, o := range []struct {
		has bool
		why string
	}{
		{j.replay.log != "", "read_iolog: a plan's workload replays nothing"},
		{j.trims() || j.pairs(), "rw=" + j.rw + ": trims need a device, and a place has files"},
		{j.openDir != "", "opendir: a plan makes its files; give filename or a size"},
		{c.load.Sizes != nil, "filesize as a range: the files of a plan's workload have one length; give one size"},
		{c.device, "the job's name is a device, and a place has files; give it another name and a size"},
		{c.load.AnyAlign, "direct=1 with blocks of partial sectors: a plan's workload can't do that"},
		{spec.Steady != nil, "steadystate: a plan's trials end by their own steady_state, which judges several rounds; use runtime and time_based"},
		{spec.FilesOnly, "create_only: a plan makes the files itself, and such a job measures nothing"},
		{len(c.load.CPUNodes) > 0 || c.load.MemPolicy != "", "numa_cpu_nodes and numa_mem_policy: a plan's workload only has cpus_allowed"},
		{c.load.Fill, "fill_device: a plan does not fill its places up"},
		{j.countsErrors(), "continue_on_error: in a plan a failed I/O fails the trial"},
		{c.load.Target != nil, "latency_target: a plan's workload has one depth; use a job for each"},
		{j.dedupeSet && j.dedupe > 0, "dedupe_mode=working_set: copies in a plan are of one block"},
		{j.strided, "zonemode=strided: a plan's workload has no zones"},
		{c.load.FlowWeight > 0, "flow: a plan measures each job alone"},
		{j.refill != nil && *j.refill && j.dedupe == 0 && j.refills(), "refill_buffers: a plan's workload makes its data before it is measured; leave it out"},
		{c.load.Data == load.DataFixed, "scramble_buffers=0: a plan's workload writes other data in each block; leave it out, or use buffer_pattern"},
		{spec.AtEnd, "file_append: a plan's files have a fixed length; use kind: append or wal"},
		{spec.PreRead, "pre_read: a plan does not read files before its workload"},
		{j.verify && (j.verifyOnly || !j.doVerify || !j.writes()), "verify: a plan's workload reads back what it wrote itself; use verify with write or randwrite alone"},
		{j.verify && len(c.files) > 1, "verify: a plan's workload verifies one file; leave out nrfiles"},
		{j.verify && j.numjobs > 1, "verify: in a plan, several clones may overwrite what another reads back; leave out numjobs"},
		{j.verify && !j.writesAllOnce(),
			"verify: a plan's workload writes all of its region and reads all of it back; leave out reads, runtime, norandommap, several sizes, verify_backlog and all else that skips blocks"},
	} {
		if o.has {
			return o.why
		}
	}
	return ""
}
