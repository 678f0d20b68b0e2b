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

// files is how many files the job's clones have together.
func (j *job) files(stage []*clone) int {
	seen := map[string]bool{}
	for _, c := range j.clones(stage) {
		for _, f := range c.files {
			seen[f] = true
		}
	}
	return len(seen)
}

// ownFiles reports whether each clone of the job has its files to itself.
func (j *job) ownFiles(stage []*clone) bool {
	return j.files(stage) == j.numjobs*len(j.clones(stage)[0].files)
}

// workload is the job of c, the first of its clones, with as many threads as there are.
func (c *clone) workload(t *Test, stage []*clone, sizeOf func(string) (int64, error)) (workload.Spec, error) {
	j := c.job
	bad := func(format string, args ...any) (workload.Spec, error) {
		return workload.Spec{}, dialect.Usagef(j.where, format, args...)
	}
	if why := c.unplanned(); why != "" {
		return bad("%s", why)
	}
	if n, each := j.files(stage), len(c.files); n != each && !j.ownFiles(stage) {
		return bad("%d files: %d clones share some of them, and a plan's threads share all or none", n, j.numjobs)
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
			return bad("numjobs=%d: its clones differ in more than their files and a whole offset_increment, which a plan's threads don't", j.numjobs)
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

// alike reports whether two clones do the same, but for the place and the time.
func alike(a, b load.Job) bool {
	a.Filename, a.Files, a.Offset, a.OffsetIncrement, a.RandSeed, a.StartDelay = b.Filename, b.Files, b.Offset, b.OffsetIncrement, b.RandSeed, b.StartDelay
	return reflect.DeepEqual(a, b)
}

// regionIn is what the clone does, in bytes: percentages are those of the file as the jobs before have made it, or as it is there.
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
				return load.Job{}, fmt.Errorf("%s and %s differ in length, and those of a plan's workload don't: give a size", name, other)
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

// planned is a load job without what a plan leaves to itself, in the words in which a plan says the same.
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
		l.RandomMap = false // A pass has one.
		l.NoRandomMap = repeats && j.norandommap && len(l.ReadSplit)+len(l.WriteSplit) == 0 && l.Distribution == "" && !j.alignedApart()
		if l.IOSize == l.Size/l.BS*l.BS*files && j.ioSize == (amount{}) && l.NumberIOs == 0 {
			l.IOSize = 0 // That is the pass.
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
		l.Loops = 0 // Both ends have them in them.
	}
	if l.BlockAlign == l.BS && !repeats {
		l.BlockAlign = 0
	}
	return l
}

// unplanned is why the clone's job is no workload of a plan, "" if it is one.
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
		{c.load.AnyAlign, "direct I/O of less than whole sectors is none of a plan's workload"},
		{spec.Steady != nil, "steadystate: a plan's trials end by their own steady_state, which judges several rounds; use runtime and time_based"},
		{spec.FilesOnly, "create_only: a plan makes the files itself, and such a job measures nothing"},
		{len(c.load.CPUNodes) > 0 || c.load.MemPolicy != "", "numa_cpu_nodes and numa_mem_policy: a plan's workload has cpus_allowed alone"},
		{c.load.Fill, "fill_device: a plan does not fill its places up"},
		{j.countsErrors(), "continue_on_error: in a plan a failed I/O fails the trial"},
		{c.load.Target != nil, "latency_target: a plan's workload has one depth; use a job for each"},
		{j.dedupeSet && j.dedupe > 0, "dedupe_mode=working_set: copies in a plan are of one block"},
		{j.strided, "zonemode=strided: a plan's workload has no zones"},
		{c.load.FlowWeight > 0, "flow: a plan measures each job alone"},
		{j.refill != nil && *j.refill && j.dedupe == 0 && j.refills(), "refill_buffers: a plan's workload makes its data before it is measured; leave it out"},
		{c.load.Data == load.DataFixed, "scramble_buffers=0: a plan's workload writes other data in each block; leave it out, or use buffer_pattern"},
		{spec.AtEnd, "file_append: a plan's files have their length before; use kind: append or wal"},
		{spec.PreRead, "pre_read: a plan reads no file before its workload"},
		{j.verify && (j.verifyOnly || !j.doVerify || !j.writes()), "verify: a plan's workload reads back what it wrote itself; use verify with write or randwrite alone"},
		{j.verify && len(c.files) > 1, "verify: a plan's workload verifies one file; leave out nrfiles"},
		{j.verify && j.numjobs > 1, "verify: of several clones in a plan each may write over what another reads back; leave numjobs out"},
		{j.verify && !j.writesAllOnce(),
			"verify: a plan's workload writes all of its region and reads all of it back; leave out reads, runtime, norandommap, several sizes, verify_backlog and what else leaves blocks out"},
	} {
		if o.has {
			return o.why
		}
	}
	return ""
}
