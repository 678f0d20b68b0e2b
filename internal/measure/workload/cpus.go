package workload

import (
	"bufio"
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A CPUDelta is the time that one of the machine's processors spent in the measured window, for all programs (/proc/stat).
type CPUDelta struct {
	// CPU is the kernel's number of the processor.
	CPU int `json:"cpu"`
	// User is user and nice time. System is the kernel's time, with interrupts. Idle is the rest, waiting for I/O included.
	// Stolen time is in none of them.
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`
	Idle   time.Duration `json:"idle"`
}

// userHz is the unit of /proc/stat: 1/100 s on every architecture that Go runs
// on (proc(5), sysconf(_SC_CLK_TCK)).
const userHz = 100

// parseCPUs reads the lines of single processors in /proc/stat: cpu0 user nice system idle iowait irq softirq steal ...
// (proc(5)). It skips other lines.
func parseCPUs(r io.Reader) []CPUDelta {
	var all []CPUDelta
	for s := bufio.NewScanner(r); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) < 8 || !strings.HasPrefix(f[0], "cpu") {
			continue
		}
		number, err := strconv.ParseUint(f[0][len("cpu"):], 10, 16)
		if err != nil {
			continue
		}
		var t [7]time.Duration
		for i := range t {
			n, e := strconv.ParseUint(f[1+i], 10, 32)
			if e != nil {
				err = e
			}
			t[i] = time.Duration(n) * time.Second / userHz
		}
		if err != nil {
			continue
		}
		all = append(all, CPUDelta{CPU: int(number), User: t[0] + t[1], System: t[2] + t[5] + t[6], Idle: t[3] + t[4]})
	}
	return all
}

// cpuDeltas subtracts a from b. It leaves out a processor that was plugged in or out.
func cpuDeltas(a, b []CPUDelta) []CPUDelta {
	var all []CPUDelta
	for _, c := range b {
		i := slices.IndexFunc(a, func(o CPUDelta) bool { return o.CPU == c.CPU })
		if i < 0 {
			continue
		}
		all = append(all, CPUDelta{
			CPU: c.CPU, User: grown(a[i].User, c.User), System: grown(a[i].System, c.System), Idle: grown(a[i].Idle, c.Idle),
		})
	}
	slices.SortFunc(all, func(a, b CPUDelta) int { return cmp.Compare(a.CPU, b.CPU) })
	return all
}
