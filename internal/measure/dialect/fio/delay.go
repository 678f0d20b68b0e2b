package fio

import (
	"fmt"
	"math/bits"
	"strings"
	"time"
)

// setDelay reads one time, or a range of times.
func setDelay(j *job, v string) error {
	least, most, ranged := strings.Cut(v, "-")
	var err error
	if j.delay, err = parseTime(least, sec); err != nil {
		return err
	}
	j.delayMost = j.delay
	if ranged {
		if j.delayMost, err = parseTime(most, sec); err == nil && j.delayMost < j.delay {
			err = fmt.Errorf("%q: the range's end is below its start", v)
		}
	}
	return err
}

// delay is the clone's startdelay. From a range it draws one, the same in each run, like its offsets.
func (c *clone) delay() time.Duration {
	j := c.job
	if j.delayMost == j.delay {
		return j.delay
	}
	share, _ := bits.Mul64(c.seed()*0x9e3779b97f4a7c15, uint64(j.delayMost-j.delay)+1)
	return j.delay + time.Duration(share)
}
