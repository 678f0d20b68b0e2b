package fio

import (
	"fmt"
	"strconv"
	"strings"

	"plimsoll/load"
)

// setTargetPercent reads latency_percentile.
func setTargetPercent(j *job, v string) error {
	p, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil || !(p > 0 && p <= 100) {
		return fmt.Errorf("%q: a percentage is a number over 0 and up to 100", v)
	}
	j.target.Percent = p
	return nil
}

// checkTarget refuses options that the search for a depth doesn't support.
func (j *job) checkTarget(bad func(string, ...any) error) error {
	switch {
	case j.target.Latency == 0:
		return nil
	case j.target.Window == 0:
		return bad("latency_target needs latency_window, the time for which each depth is tried")
	case j.rate.most()+j.iops.most() > 0 || j.think > 0 || j.flow > 0 || j.replay.log != "":
		return bad("latency_target with a rate, thinktime, flow or read_iolog is not supported: only the depth is varied")
	case j.verify && j.doVerify:
		return bad("latency_target with verify is not supported; verify in a separate job")
	case j.traces() || j.histLog != nil || j.hasDataLogs() || j.steady.Metric != "":
		return bad("latency_target with logs or steadystate is not supported: the results are those of the last window")
	case j.ioengine == "posixaio" && j.iodepth > 1:
		return bad("latency_target with ioengine=posixaio is not supported; use libaio or io_uring")
	case j.group && j.numjobs > 1:
		return bad("latency_target with group_reporting is not supported: each clone finds its own depth")
	}
	return nil
}

// latencyTarget is the target of the clone's search for a depth, nil without one.
func (c *clone) latencyTarget() *load.LatencyTarget {
	if c.job.target.Latency == 0 {
		return nil
	}
	t := c.job.target
	return &t
}

// depth is the job's depth, or the result of its search.
func (j *jobReport) depth() int {
	if j.found > 0 {
		return j.found
	}
	return j.job.iodepth
}
