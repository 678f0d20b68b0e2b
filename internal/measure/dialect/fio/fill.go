package fio

import "strings"

// endless is the size of a job that writes until there is no room: more than any file system or device has.
const endless = 1 << 50

// fills reports whether the clone writes until there is no room.
func (j *job) fills() bool { return j.fill && j.writes() && !j.verifyOnly && !j.createOnly }

// checkFill refuses what fill_device would have to know the room for.
func (j *job) checkFill(bad func(string, ...any) error) error {
	if !j.fills() {
		return nil
	}
	switch sized := j.size.n > 0 && !j.size.percent; {
	case j.reads():
		return bad("fill_device with rw=%s is not supported: its reads need a file that is there in full before; fill it with rw=write in a job before", j.rw)
	case j.random() && !sized:
		return bad("fill_device with rw=%s needs a size in bytes: random offsets need a region", j.rw)
	case j.ioengine == "mmap" || j.ioengine == "null":
		return bad("fill_device is not supported with ioengine=%s, which does not say when there is no room", j.ioengine)
	case j.verify && j.doVerify:
		return bad("fill_device with verify is not supported: how much there is to be read back is not known before. Give do_verify=0, and read back in a job of its own")
	case !sized && len(splitColons(j.filename)) > 1 || !sized && j.nrfiles > 1:
		return bad("fill_device with several files needs a size")
	}
	return nil
}

// fillUp has the clone write until there is no room, into a new file.
func (c *clone) fillUp() {
	if c.job.fills() {
		c.load.Fill = true
		c.spec.Truncate = true
	}
}

// wholeFile reports whether a size stands for all that is there, or all that there is room for.
func (j *job) wholeFile() bool {
	all := j.size == amount{} || j.size.percent && j.size.n == 100
	return j.fill && all && !strings.HasPrefix(j.ioengine, "null")
}
