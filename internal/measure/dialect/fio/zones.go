package fio

import (
	"fmt"
	"strings"

	"plimsoll/load"
)

// setZoneMode turns zonesize and its companions on or off.
func setZoneMode(j *job, v string) error {
	switch v {
	case "none", "strided":
		j.strided = v == "strided"
		return nil
	case "zbd":
		return fmt.Errorf("zoned devices are not supported; use none or strided")
	}
	return fmt.Errorf("%q must be none or strided", v)
}

// zoneTo reads a size of zones.
func zoneTo(f func(*load.Zones) *int64) setter {
	return func(j *job, v string) error {
		if strings.HasSuffix(strings.ToLower(v), "z") {
			return fmt.Errorf("%q: a number of zones is for zoned devices; give bytes", v)
		}
		n, err := parseSize(v, j.kbBase)
		if err == nil {
			*f(&j.zones) = n
		}
		return err
	}
}

// checkZones refuses what fio refuses at the start of a run.
func (j *job) checkZones(bad func(string, ...any) error) error {
	switch {
	case !j.strided && j.zones.Size > 0:
		return bad("zonesize needs zonemode=strided, as in fio")
	case j.strided && j.zones.Size == 0:
		return bad("zonemode=strided needs zonesize")
	case j.strided && j.replay.log != "":
		return bad("zonemode=strided contradicts read_iolog, which has offsets of its own")
	}
	return nil
}

// zoneEnds sets how many bytes a clone with zones does: as many as its n regions have, in whole blocks, as in fio. A
// sequential job ends at a zone that the region's end cuts off.
func (c *clone) zoneEnds(region, n int64) {
	j, l := c.job, &c.load
	if !j.strided || region == 0 || l.IOSize == 0 || len(l.ReadSplit)+len(l.WriteSplit) > 0 {
		return
	}
	if j.ioSize == (amount{}) {
		l.IOSize = (region*n + l.BS - 1) / l.BS * l.BS
	}
	if l.RW != load.Read && l.RW != load.Write {
		return
	}
	span := j.zones.Size
	if j.zones.Range > 0 {
		span = j.zones.Range
	}
	step, each := span+j.zones.Skip, (j.zones.Size+l.BS-1)/l.BS*l.BS
	whole := int64(0)
	if region >= span {
		whole = (region-span)/step + 1
	}
	if left := region - whole*step; left > 0 {
		l.IOSize = min(l.IOSize, n*(whole*each+min(left/l.BS*l.BS, each)))
	}
}
