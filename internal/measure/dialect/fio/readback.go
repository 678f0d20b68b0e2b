package fio

import (
	"context"
	"fmt"
	"slices"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// readingBack is the job that reads back parts of what j wrote. If j had several block sizes it uses their mean, so
// that there are about as many reads as writes.
func readingBack(j load.Job, only []load.Ranges) load.Job {
	v := load.Job{
		RW: load.Read, BS: j.BS, IODepth: j.IODepth, NumJobs: 1, Direct: j.Direct, IOEngine: j.IOEngine, Offset: j.Offset, Size: j.Size,
		Verify: true, Data: j.Data, Pattern: j.Pattern, PatternOnly: j.PatternOnly, RandSeed: j.RandSeed, CPUs: j.CPUs,
		Filename: j.Filename, Files: j.Files, Sizes: j.Sizes, SampleEvery: sampleEvery, Only: only, Priority: j.Priority,
	}
	unit := j.VerifyUnit()
	if _, mean := j.MeanSizes(); unit > 0 && mean > 0 {
		v.BS = max(mean/unit*unit, unit)
	}
	if !j.PatternOnly && v.VerifyUnit() != unit {
		v.StampUnit = unit
	}
	return v
}

// canReadBack validates the job that reads back, as far as it is known before anything is written.
func (c *clone) canReadBack() error {
	v := readingBack(c.load, nil)
	if err := v.Validate(); err != nil {
		return c.refuse(err)
	}
	return nil
}

// readBack reads back the writes of stage i that its clones have not read back themselves, after all of them have
// ended.
func (t *Test) readBack(ctx context.Context, session dialect.Session, i int, out []measured, p *progress) error {
	var jobs []workload.StageJob
	var of []int
	for k, m := range out {
		if !slices.ContainsFunc(m.result.Written, func(r load.Ranges) bool { return len(r) > 0 }) {
			continue
		}
		// The result's job has its region in bytes, and its files by the worker's names.
		v := m.result.Job
		v.Filename, v.Files = m.clone.load.Filename, m.clone.load.Files
		j := workload.StageJob{Name: m.clone.job.name, Job: readingBack(v, m.result.Written), Invalidate: m.clone.spec.Invalidate}
		j.Job.Status = t.statusEvery > 0
		jobs, of = append(jobs, m.clone.in(session, j, nil)), append(of, k)
	}
	if len(jobs) == 0 {
		return nil
	}
	verified := func(stage []workload.StageResult) {
		for n, k := range of {
			out[k].verify = &stage[n]
		}
	}
	p.readBack(out, len(jobs), verified)
	back, err := session.Stage(ctx, t.stageName(i)+" verify", jobs, nil)
	if err != nil {
		return err
	}
	if len(back.Stage) != len(jobs) {
		return fmt.Errorf("stage %d: %d results of %d jobs that verify", i, len(back.Stage), len(jobs))
	}
	p.verified(func() { verified(back.Stage) })
	p.ran(back, out)
	return nil
}
