package fio

import "strings"

// endless is the size of a job that writes until the device is full: more than any file system or device has.
const endless = 1 << 50

// fills reports whether the job writes until the device is full.
func (j *job) fills() bool { return j.fill && j.writes() && !j.verifyOnly && !j.createOnly }

// checkFill refuses fill_device where the free space would have to be known first.
func (j *job) checkFill(bad func(string, ...any) error) error {
	if !j.fills() {
		return nil
	}
	switch sized := j.size.n > 0 && !j.size.percent; {
	case j.reads():
		return bad("fill_device with rw=%s is not supported: its reads need a complete file; write it in an earlier job with rw=write", j.rw)
	case j.random() && !sized:
		return bad("fill_device with rw=%s needs a size in bytes: random offsets need a region", j.rw)
	case j.ioengine == "mmap" || j.ioengine == "null":
		return bad("fill_device is not supported with ioengine=%s, which doesn't report a full device", j.ioengine)
	case j.verify && j.doVerify:
		return bad("fill_device with verify is not supported: the amount to read back is not known beforehand. Use do_verify=0, and read back in a separate job")
	case !sized && len(splitColons(j.filename)) > 1 || !sized && j.nrfiles > 1:
		return bad("fill_device with several files needs a size")
	}
	return nil
}

// fillUp makes the clone write a new file until the device is full.
func (c *clone) fillUp() {
	if c.job.fills() {
		c.load.Fill = true
		c.spec.Truncate = true
	}
}

// wholeFile reports whether fill_device has no size, or 100 %, so that it means all that there is.
func (j *job) wholeFile() bool {
	all := j.size == amount{} || j.size.percent && j.size.n == 100
	return j.fill && all && !strings.HasPrefix(j.ioengine, "null")
}
