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

// A CPUDelta is what one of the machine's processors did in the measured window, for any program that asked for
// it (/proc/stat).
type CPUDelta struct {
	// CPU is the kernel's number of the processor.
	CPU int `json:"cpu"`
	// User is user and nice time, System what the kernel did, its interrupts included, and
	// Idle the rest, in which it may have waited for I/O. Stolen time is in none of them.
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`
	Idle   time.Duration `json:"idle"`
}

// userHz is the unit of /proc/stat: 1/100 s on every architecture that Go runs
// on (proc(5), sysconf(_SC_CLK_TCK)).
const userHz = 100

// parseCPUs reads the lines of single processors in /proc/stat: cpu0 user nice
// system idle iowait irq softirq steal ... (proc(5)). What is no such line is passed over.
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

// cpuDeltas subtracts. A processor that is in one of the two only was plugged in or out, and is left out.
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
