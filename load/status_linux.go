package load

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

func ownTask() int { return unix.Gettid() }

// taskUsage returns the usage of a thread of this process so far, from procfs, because getrusage reports only the
// calling thread. Times there are in ticks (proc(5), USER_HZ is 100 on every architecture that Go runs on).
func taskUsage(task int) (u ThreadUsage) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", task))
	if err != nil {
		return u
	}
	// The name is in brackets and may contain blanks.
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	number := func(b []byte) int64 {
		n, _ := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64)
		return n
	}
	const state, minflt, majflt, utime, stime = 3, 10, 12, 14, 15
	if len(f) <= stime-state {
		return u
	}
	const tick = time.Second / 100
	u.MinorFaults, u.MajorFaults = number(f[minflt-state]), number(f[majflt-state])
	u.User, u.System = time.Duration(number(f[utime-state]))*tick, time.Duration(number(f[stime-state]))*tick
	status, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/status", task))
	if err != nil {
		return u
	}
	for line := range bytes.Lines(status) {
		if name, n, _ := bytes.Cut(line, []byte(":")); bytes.HasSuffix(name, []byte("voluntary_ctxt_switches")) {
			u.Switches += number(n)
		}
	}
	return u
}
