package fio

import (
	"math"
	"math/rand/v2"
	"slices"

	"plimsoll/load"
)

// drawSizes draws the sizes of n files from the clone's range: multiples of the block size, at least one block.
func (c *clone) drawSizes(n int) []int64 {
	j := c.job
	r := rand.New(rand.NewPCG(c.seed(), 0))
	sizes := make([]int64, n)
	for i := range sizes {
		size := j.filesize + r.Int64N(j.filesizeMost-j.filesize+1)
		sizes[i] = max(size/c.load.BS*c.load.BS, c.load.BS)
	}
	return sizes
}

// sized gives each of the clone's files its own size.
func (c *clone) sized(t *Test, bad func(string, ...any) error) error {
	j, l := c.job, &c.load
	switch {
	case j.offset.percent || j.offsetInc != amount{} || j.ioSize.percent || j.size.percent:
		return bad("filesize=%d-%d with offset_increment or a percentage is not supported; give bytes", j.filesize, j.filesizeMost)
	case j.extends() || j.strided || t.readonly:
		return bad("filesize=%d-%d with fill_device, file_append, zonemode or --readonly is not supported; give one size", j.filesize, j.filesizeMost)
	}
	lengths := c.drawSizes(len(c.files))
	l.Offset = j.offset.n
	for i, f := range c.files {
		t.need[f] = max(t.need[f], lengths[i])
		l.Sizes = append(l.Sizes, max(lengths[i]-l.Offset, 0))
	}
	l.Size = slices.Max(l.Sizes)
	if l.Size < l.BS {
		return bad("offset=%d leaves no whole block in the files", l.Offset)
	}
	total := l.Share(100)
	if j.size.n > 0 {
		total = min(total, max(j.size.n/l.BS, 1)*l.BS)
	}
	if j.timeBased {
		return nil
	}
	l.Loops = j.loops
	if l.IOSize = total; j.ioSize.n > 0 {
		l.IOSize = j.ioSize.n
	}
	if l.NumberIOs > 0 {
		l.NumberIOs = min(l.NumberIOs, math.MaxInt64/j.loops) * j.loops
	}
	if l.Runtime == 0 && j.random() && !l.RandomMap {
		l.Runtime = unlimited
	}
	return nil
}

// ranged reports whether the clone's files differ in size.
func (c *clone) ranged() bool {
	return c.job.filesizeMost > c.job.filesize && len(c.files) > 1 && c.load.IOEngine != load.Null
}

// checkDir refuses what is not supported with opendir.
func (j *job) checkDir(bad func(string, ...any) error) error {
	switch {
	case j.openDir == "":
		return nil
	case j.writes() || j.trims():
		return bad("opendir with rw=%s is not supported: the files that it would overwrite are not known beforehand; name them with filename", j.rw)
	case j.filename != "" || j.nrfiles > 1 || j.filesize > 0:
		return bad("opendir contradicts filename, nrfiles and filesize: it uses every file of the folder as it is")
	case j.size.percent, j.offset.percent || j.offsetInc.percent, j.strided || j.verify, j.replay.log != "" || j.ioengine == "null":
		return bad("opendir with a percentage, zonemode, verify, read_iolog or ioengine=null is not supported; name the files with filename")
	}
	return nil
}
