package fio

import (
	"slices"

	"plimsoll/internal/measure/dialect"
	"plimsoll/internal/measure/workload"
)

// Values of exit_what: the end of a job ends its group, its stage, or the rest of the test.
const (
	exitGroup = "group"
	exitStage = "stonewall"
	exitRest  = "all"
)

// exits lets the jobs end each other. As in fio, exitall in one job applies to all.
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
				return dialect.Usagef(c.job.where, "exit_what=stonewall is not supported with a ramp_time or startdelay, which %s has: fio would let such a job go on. Use exit_what=all or group", stage[late].job.name)
			}
			c.spec.EndStage = true
		}
	}
	return nil
}

// lastStage reports whether the end of one of these clones ends the test, so that no further stage begins.
func (t *Test) lastStage(stage []*clone) bool {
	return slices.ContainsFunc(stage, func(c *clone) bool { return c.spec.EndAll && c.job.exitWhat == exitRest })
}

// unstarted are the results of clones that never began.
func unstarted(stages [][]*clone) (all []measured) {
	for _, clones := range stages {
		for _, c := range clones {
			all = append(all, measured{clone: c, result: workload.StageResult{Name: c.job.name, Job: c.spec.Job}})
		}
	}
	return all
}
