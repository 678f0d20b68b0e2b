package fio

// checkPasses refuses what file_append and unlink_each_loop do in other jobs than those that are as in fio here.
func (j *job) checkPasses(bad func(string, ...any) error) error {
	if j.unlinkLoops && j.loops > 1 && !j.timeBased {
		return bad("unlink_each_loop with loops=%d is not supported: a file can't be made anew in the middle of a measurement. Use unlink=1, and the job several times with stonewall", j.loops)
	}
	if !j.appends {
		return nil
	}
	switch sized := j.size.n > 0 && !j.size.percent; {
	case !j.writes() || j.reads():
		return bad("file_append with rw=%s is not supported: nothing that could be read is behind a file's end; use rw=write or rw=randwrite", j.rw)
	case !sized && !j.fill:
		return bad("file_append needs a size in bytes: what is behind the end of the file")
	case j.nrfiles > 1 || len(splitColons(j.filename)) > 1:
		return bad("file_append with several files is not supported: each would have an end of its own. Give each a job")
	case j.loops > 1 && !j.timeBased:
		return bad("file_append with loops=%d is not supported; use the job several times with stonewall", j.loops)
	case j.ioengine == "mmap" || j.ioengine == "null":
		return bad("file_append is not supported with ioengine=%s, which does not extend a file", j.ioengine)
	case j.verify && j.doVerify:
		return bad("file_append with verify is not supported: where the end was is not known afterwards. Give do_verify=0")
	}
	return nil
}

// extends reports whether the clone's file is made longer by the job itself, and not laid out before.
func (j *job) extends() bool { return j.fills() || j.appends && !j.createOnly }

// behindEnd has the clone begin where its file ends, in place of an offset, as in fio.
func (c *clone) behindEnd() {
	if !c.job.appends || c.job.createOnly {
		return
	}
	c.spec.AtEnd, c.spec.Extend, c.spec.Truncate = true, true, false
	c.spec.OffsetPercent, c.spec.StepPercent, c.spec.Steps = 0, 0, 0
	c.load.Offset = 0
}
