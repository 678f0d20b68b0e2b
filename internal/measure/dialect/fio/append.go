package fio

// checkPasses refuses uses of file_append and unlink_each_loop that differ from fio's here.
func (j *job) checkPasses(bad func(string, ...any) error) error {
	if j.unlinkLoops && j.loops > 1 && !j.timeBased {
		return bad("unlink_each_loop with loops=%d is not supported: a measurement can't pause to create its files again. Use unlink=1, and repeat the job with stonewall", j.loops)
	}
	if !j.appends {
		return nil
	}
	switch sized := j.size.n > 0 && !j.size.percent; {
	case !j.writes() || j.reads():
		return bad("file_append with rw=%s is not supported: there is no data to read after the end of a file; use rw=write or rw=randwrite", j.rw)
	case !sized && !j.fill:
		return bad("file_append needs a size in bytes: how much to append")
	case j.nrfiles > 1 || len(splitColons(j.filename)) > 1:
		return bad("file_append with several files is not supported; use one job per file")
	case j.loops > 1 && !j.timeBased:
		return bad("file_append with loops=%d is not supported; repeat the job with stonewall", j.loops)
	case j.ioengine == "mmap" || j.ioengine == "null":
		return bad("file_append is not supported with ioengine=%s, which can't extend a file", j.ioengine)
	case j.verify && j.doVerify:
		return bad("file_append with verify is not supported: the file's old end is not recorded. Use do_verify=0")
	}
	return nil
}

// extends reports whether the job itself makes the clone's file longer, so that the file is not laid out before.
func (j *job) extends() bool { return j.fills() || j.appends && !j.createOnly }

// behindEnd starts the clone at the end of its file, whatever its offset is, as in fio.
func (c *clone) behindEnd() {
	if !c.job.appends || c.job.createOnly {
		return
	}
	c.spec.AtEnd, c.spec.Extend, c.spec.Truncate = true, true, false
	c.spec.OffsetPercent, c.spec.StepPercent, c.spec.Steps = 0, 0, 0
	c.load.Offset = 0
}
