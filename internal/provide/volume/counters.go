package volume

import (
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/host/device"
)

// counters are those of a device since it exists.
type counters struct {
	reads, writes int64
	// busy is how long it had I/Os that were not complete.
	busy time.Duration
}

// countersOf reads a device's counters. The format is that of the kernel's Documentation/block/stat.rst.
func countersOf(name string) (counters, bool) {
	f := strings.Fields(device.Text(device.Host().Sys, "block", name, "stat"))
	if len(f) < 11 {
		return counters{}, false
	}
	n := map[int]int64{}
	for _, i := range []int{0, 4, 9} {
		v, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			return counters{}, false
		}
		n[i] = v
	}
	return counters{reads: n[0], writes: n[4], busy: time.Duration(n[9]) * time.Millisecond}, true
}
