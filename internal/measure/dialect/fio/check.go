package fio

import (
	"errors"
	"math"
	"time"

	"plimsoll/internal/measure/dialect"
)

// check refuses contradictions. As in fio, options for the other direction, or for random offsets in a sequential
// job, have no effect.
func (j *job) check() error {
	bad := func(format string, args ...any) error { return dialect.Usagef(j.where, format, args...) }
	writes, reads := j.writes(), j.reads()
	if j.timeBased && j.runtime == 0 {
		j.timeBased = false
		j.note("time_based has no effect without runtime, as in fio")
	}
	if err := errors.Join(j.checkFill(bad), j.checkPasses(bad)); err != nil {
		return err
	}
	switch {
	case writes && j.fsync > 0 && j.fdatasync > 0:
		return bad("fsync=%d contradicts fdatasync=%d", j.fsync, j.fdatasync)
	case reads && j.rate.read > 0 && j.iops.read > 0, writes && j.rate.write > 0 && j.iops.write > 0:
		return bad("rate contradicts rate_iops; use one of the two")
	case reads && writes && j.rate.most() > 0 && j.iops.most() > 0:
		return bad("rate for one direction and rate_iops for the other is not supported; use one of the two for both")
	case j.rateMin.most() > 0 && j.iopsMin.most() > 0:
		return bad("rate_min contradicts rate_iops_min; use one of the two")
	case reads && (below(j.rate.read, j.rateMin.read) || below(j.iops.read, j.iopsMin.read)),
		writes && (below(j.rate.write, j.rateMin.write) || below(j.iops.write, j.iopsMin.write)):
		return bad("the minimum rate is higher than the rate")
	case j.thinkSpin > j.think:
		return bad("thinktime_spin=%v is more than thinktime=%v", j.thinkSpin, j.think)
	case j.think > 0 && j.ioengine == "posixaio" && j.iodepth > 1:
		return bad("thinktime with ioengine=posixaio needs iodepth=1: its threads would pause independently; use libaio or io_uring")
	case j.ioengine == "mmap" && j.direct:
		return bad("direct=1 contradicts ioengine=mmap: a mapping is the page cache")
	case j.zero && len(j.pattern) > 0:
		return bad("zero_buffers contradicts buffer_pattern")
	case j.zero && (j.compress > 0 || j.dedupe > 0), len(j.pattern) > 0 && j.compress == 0 && j.dedupe > 0:
		return bad("zero_buffers contradicts buffer_compress_percentage and dedupe_percentage, which need random data; dedupe_percentage with buffer_pattern needs buffer_compress_percentage")
	case len(j.cpuNodes) > 0 && len(j.cpus) > 0:
		return bad("numa_cpu_nodes contradicts cpus_allowed; use one of the two")
	case len(j.cpuNodes) > 0 && j.splitCPUs:
		return bad("cpus_allowed_policy=split needs cpus_allowed, not numa_cpu_nodes")
	case j.steady.Metric != "" && j.ssDur < time.Second:
		return bad("steadystate needs a steadystate_duration of at least a second")
	case j.steady.Metric == "" && j.ssDur > 0:
		return bad("steadystate_duration needs steadystate, as in steadystate=iops_slope:0.3%%")
	case j.blockalign.hasRead && j.blockalign.hasWrite && j.blockalign.read != j.blockalign.write && reads && writes:
		return bad("one blockalign for reads and another for writes is not supported")
	}
	if j.logMax && j.hasDataLogs() && j.logAvg > 0 {
		return bad("log_max_value with logs is not supported: they hold averages. Use log_avg_msec=0, which logs every I/O")
	}
	if err := j.checkPairs(bad); err != nil {
		return err
	}
	if err := j.checkReplay(bad); err != nil {
		return err
	}
	return errors.Join(j.checkDir(bad), j.checkZones(bad), j.checkDedupe(bad), j.checkTarget(bad), j.checkVerify(bad))
}

// checkPairs refuses what is not supported for jobs that trim and write the same blocks.
func (j *job) checkPairs(bad func(string, ...any) error) error {
	switch {
	case !j.pairs():
	case !synchronous[j.ioengine] && j.iodepth > 1:
		return bad("rw=%s with iodepth=%d is not supported: each block is trimmed and written before the next; use iodepth=1", j.rw, j.iodepth)
	case j.rate.most()+j.iops.most()+j.rate.trim+j.iops.trim > 0:
		return bad("rw=%s with a rate is not supported; use thinktime", j.rw)
	case j.verify:
		return bad("rw=%s with verify is not supported; verify a job of writes", j.rw)
	}
	return nil
}

func (j *job) checkVerify(bad func(string, ...any) error) error {
	if j.verify && j.ioengine == "null" {
		j.note("verify: the null engine keeps nothing, so blocks are read back as with fio, and nothing is verified")
	}
	switch {
	case !j.verify && j.verifyOnly:
		return bad("verify_only needs verify")
	case !j.verify:
		return nil
	case j.goOnVerify:
		return bad("continue_on_error=verify and continue_on_error=all are not supported with verify: the first bad block ends the test. Use continue_on_error=io")
	case (j.verifyOnly || !j.writes()) && !j.randrepeat && j.randseed == 0:
		return bad("verifying another job's data needs the same seed: randrepeat=1 or randseed")
	case j.patternOnly && len(j.verifyPattern) == 0:
		return bad("verify=pattern needs verify_pattern")
	case j.patternOnly && j.blockSize()%int64(len(j.verifyPattern)) != 0:
		return bad("verify=pattern: the block size must be a multiple of verify_pattern's %d bytes", len(j.verifyPattern))
	case j.zero || len(j.pattern) > 0 && len(j.verifyPattern) == 0 || j.dedupe > 0:
		return bad("verify needs unique blocks: leave out zero_buffers, buffer_pattern and dedupe_percentage")
	case !j.writes() || j.verifyOnly || !j.doVerify:
		return nil
	case j.unlink:
		return bad("unlink would remove the files before they are read back; remove them yourself")
	}
	return nil
}

// refuseOverwrites refuses clones of a stage that verify and overwrite each other's blocks.
func refuseOverwrites(stage []*clone) error {
	type part struct{ from, to int64 }
	verified := map[string]bool{}
	for _, c := range stage {
		if c.load.Verify && c.load.Writes() {
			for _, f := range c.files {
				verified[f] = true
			}
		}
	}
	written := map[string][]part{}
	for _, c := range stage {
		if !c.load.Writes() {
			continue
		}
		for _, f := range c.files {
			if !verified[f] {
				continue
			}
			p := part{c.load.Offset, c.load.Offset + c.load.Size}
			if c.load.Size == 0 {
				p = part{0, math.MaxInt64} // The part depends on a file that does not exist yet.
			}
			for _, o := range written[f] {
				if p.from < o.to && o.from < p.to {
					return dialect.Usagef(c.job.where, "verify: two jobs or clones write the same part of %s at once; give each its own file or an offset_increment", f)
				}
			}
			written[f] = append(written[f], p)
		}
	}
	return nil
}

// refuseLocks refuses lockfile for files that several clones of a stage use. In fio such clones take turns.
func refuseLocks(stage []*clone) error {
	users := map[string]int{}
	for _, c := range stage {
		for _, f := range c.files {
			users[f]++
		}
	}
	for _, c := range stage {
		if c.job.lockFile == "" || c.job.lockFile == "none" {
			continue
		}
		for _, f := range c.files {
			if users[f] > 1 {
				return dialect.Usagef(c.job.where, "lockfile=%s is not supported for %s, which several jobs or clones use: they do not take turns here. Give each its own file or an offset_increment", c.job.lockFile, f)
			}
		}
	}
	return nil
}

// below reports whether a rate is set and is less than the minimum rate.
func below(rate, least int64) bool { return rate > 0 && rate < least }
