package fio

import (
	"slices"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/workload"
)

// What exit_what has the end of a job end: its group, its stage, or the rest of the test.
const (
	exitGroup = "group"
	exitStage = "stonewall"
	exitRest  = "all"
)

// exits has the jobs end each other: exitall in any job is one of all, as in fio.
func (t *Test) exits() error {
	if !slices.ContainsFunc(t.jobs, func(j *job) bool { return j.exitall }) {
		return nil
	}
	for _, stage := range t.stages {
		for _, c := range stage {
			c.spec.EndAll, c.spec.Group = true, c.group+1
			if c.job.exitWhat == exitGroup || len(stage) == 1 {
				continue
			}
			if late := slices.IndexFunc(stage, func(o *clone) bool { return o.job.ramp > 0 || o.job.delay > 0 || o.job.delayMost > 0 }); late >= 0 && c.job.exitWhat == exitStage {
				return dialect.Usagef(c.job.where, "exit_what=stonewall leaves jobs alone that are in their ramp_time or startdelay then, which is not supported: %s has one; use exit_what=all or group", stage[late].job.name)
			}
			c.spec.EndStage = true
		}
	}
	return nil
}

// lastStage reports whether no stage is to begin after one with these clones.
func (t *Test) lastStage(stage []*clone) bool {
	return slices.ContainsFunc(stage, func(c *clone) bool { return c.spec.EndAll && c.job.exitWhat == exitRest })
}

// unstarted is what became of clones that never began.
func unstarted(stages [][]*clone) (all []measured) {
	for _, clones := range stages {
		for _, c := range clones {
			all = append(all, measured{clone: c, result: workload.StageResult{Name: c.job.name, Job: c.spec.Job}})
		}
	}
	return all
}
