package fio

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// region sets the clone's offset and size, and what ends it.
func (c *clone) region(t *Test, bad func(string, ...any) error) error {
	j, l, spec := c.job, &c.load, &c.spec
	if c.ranged() {
		return c.sized(t, bad)
	}
	fileSize := j.filesize
	if j.filesizeMost > j.filesize {
		fileSize = c.drawSizes(1)[0]
	}
	n := int64(max(len(c.files), 1))
	region := j.size.n / n
	if j.size.percent {
		region = 0
		spec.SizePercent = int(j.size.n)
	}
	if fileSize > 0 && (region == 0 || region > fileSize) && !j.size.percent {
		region = fileSize
	}
	null, named := l.IOEngine == load.Null, j.filename != "" || j.openDir != ""
	if j.fills() && j.wholeFile() {
		region, spec.SizePercent = endless, 0
	}
	c.fillUp()
	switch {
	case null && (j.size.percent || j.offset.percent || j.offsetInc.percent):
		return bad("a percentage needs a file, and the null engine has none; give bytes")
	case null && region == 0:
		return bad("the null engine has no file; give a size")
	case region == 0 && !named && !c.device && !t.makes(c.files):
		return bad("give a size, or a filename that exists")
	case region > 0 && region < l.BS:
		return bad("size=%d is less than one block of bs=%d for each of %d files", j.size.n, l.BS, n)
	}
	switch {
	case j.offset.percent:
		spec.OffsetPercent, spec.OffsetAlign = int(j.offset.n), j.offsetAlign
	default:
		l.Offset = j.offset.n
	}
	inc := j.offsetInc.n
	if j.offsetInc.percent {
		spec.StepPercent, spec.Steps, spec.OffsetAlign, inc = int(inc), c.number, j.offsetAlign, 0
	}
	if inc > 0 && (inc > math.MaxInt64/maxClones/2 || l.Offset > math.MaxInt64/2) {
		return bad("offset_increment=%d ends beyond the largest possible file", inc)
	}
	l.Offset += inc * int64(c.number)
	if region > math.MaxInt64-l.Offset {
		return bad("size=%d from offset %d on ends beyond the largest possible file", region, l.Offset)
	}
	c.behindEnd()
	l.Size = region
	l.ReadSplit, l.WriteSplit = fitting(l.ReadSplit, region), fitting(l.WriteSplit, region)
	c.ends(region, n, t.readonly)
	if region > 0 && !null && !t.readonly && !j.extends() {
		end := max(l.Offset+region, behind(l.Offset+region+cmp.Or(max(spec.OffsetAlign, 0), l.BS), spec.OffsetPercent+spec.Steps*spec.StepPercent), fileSize)
		for _, f := range c.files {
			t.need[f] = max(t.need[f], end)
		}
	}
	return nil
}

// fitting drops block sizes larger than the region, if its size is known and a smaller one exists: fio draws until a
// size fits.
func fitting(split []load.SizeShare, region int64) []load.SizeShare {
	out := slices.DeleteFunc(slices.Clone(split), func(s load.SizeShare) bool { return s.Size > region })
	if region == 0 || len(out) == 0 || len(out) == len(split) {
		return split
	}
	sum := 0.0
	for _, s := range out {
		sum += s.Percent
	}
	for i := range out {
		out[i].Percent *= 100 / sum
	}
	return out
}

// behind is the file length for which region bytes fit after an offset of percent of the file; 0 without a
// percentage. It includes room to round the offset up to the next block.
func behind(region int64, percent int) int64 {
	if percent <= 0 || percent >= 100 || region > math.MaxInt64/100 {
		return 0
	}
	part := int64(100 - percent)
	return (region*100 + part - 1) / part
}

// ends sets when a clone stops whose region has that many bytes in each of n files; 0: not known yet. A file that is
// only read may be shorter.
func (c *clone) ends(region, n int64, readonly bool) {
	j, l := c.job, &c.load
	if j.timeBased {
		return
	}
	l.Loops = j.loops
	if l.NumberIOs > 0 {
		l.NumberIOs = min(l.NumberIOs, math.MaxInt64/j.loops) * j.loops
	}
	switch {
	case j.ioSize.percent:
		c.spec.IOPercent = int(j.ioSize.n)
		if region > 0 {
			c.spec.IOPercent = 0
			l.IOSize = max(workload.Share(region, n, int(j.ioSize.n)), l.BS)
		}
	case j.ioSize.n > 0:
		l.IOSize = j.ioSize.n
	case region > 0 && region <= math.MaxInt64/n && c.spec.OffsetPercent+c.spec.StepPercent == 0 && !readonly:
		l.IOSize = region * n
		// A pass counts blocks, and a region may not be a multiple of them. As in fio, a pass with gaps continues
		// until it has done the region's bytes.
		if r, w := j.splits(); len(r)+len(w) == 0 {
			l.IOSize = region / l.BS * l.BS * n
		}
	default:
		c.spec.IOPercent = 100
	}
	if pass := j.gapsEnd(region, l.BS); pass > 0 && l.IOSize > 0 {
		l.IOSize = min(l.IOSize, pass*n)
	}
	c.zoneEnds(region, n)
	if l.Runtime == 0 && j.random() && !l.RandomMap {
		// load's single pass would keep a random map.
		l.Runtime = unlimited
	}
}
