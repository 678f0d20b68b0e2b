package fio

import (
	"fmt"
	"strings"
)

// setRate sets a rate of bytes or I/Os a second, or one for each direction, of up to most.
func setRate(f func(*job) *pair, most int64) setter {
	set := pairTo(f, 0, most)
	return func(j *job, v string) error {
		if strings.HasSuffix(v, "%") {
			return fmt.Errorf("%q: a rate is bytes or I/Os a second", v)
		}
		return set(j, v)
	}
}
