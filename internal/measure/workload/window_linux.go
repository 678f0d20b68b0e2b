package workload

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/load"

	"plimsoll/internal/host/eintr"
)

// takeSnapshot reads the counters that this process may see. The window's I/O may have begun or still drain; so the
// counters that are compared with the application's are read next to the window: last at its beginning, first at its end.
func takeSnapshot(begin bool) snapshot {
	var s snapshot
	if begin {
		s.readMachine()
		s.readMoved()
	} else {
		s.readMoved()
		s.readMachine()
	}
	return s
}

// readMoved reads the bytes moved by the process, by its group, and by the disks.
func (s *snapshot) readMoved() {
	if b, err := os.ReadFile("/proc/self/io"); err == nil {
		s.proc = parseKeys(b)
	}
	s.disks = ReadDisks("/proc")
	for _, path := range []string{"/sys/fs/cgroup/blkio/blkio.throttle.io_service_bytes", "/sys/fs/cgroup/io.stat"} {
		if f, err := os.Open(path); err == nil {
			s.cgroup = parseCgroupIO(f)
			f.Close()
			if len(s.cgroup) == 0 && strings.Contains(path, "blkio") {
				// Since Linux 6.10 v1 counts only on disks that ever had a limit: an empty file means unknown.
				s.cgroup = nil
			}
			break
		}
	}
}

// readMachine reads how busy the machine and the process were.
func (s *snapshot) readMachine() {
	s.at = time.Now()
	if b, err := os.ReadFile("/proc/stat"); err == nil {
		s.cpu = parseCPU(b)
		s.cpus = parseCPUs(bytes.NewReader(b))
	}
	if b, err := os.ReadFile("/proc/pressure/io"); err == nil {
		s.io = parsePressure(b)
	}
	if b, err := os.ReadFile("/proc/pressure/memory"); err == nil {
		s.memory = parsePressure(b)
	}
	var cpus unix.CPUSet
	if unix.SchedGetaffinity(os.Getpid(), &cpus) == nil {
		s.allowed = cpus.Count()
	}
	s.usage = load.ProcessUsage()
	s.throttle = throttled()
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &ru) == nil {
		s.faults = ru.Majflt
	}
	s.threads = threadTimes()
}

// threadTimes reads the scheduler's times of each thread of this process; nil if it has none (no CONFIG_SCHED_INFO).
func threadTimes() map[int]scheduled {
	tasks, _ := os.ReadDir("/proc/self/task")
	var all map[int]scheduled
	for _, t := range tasks {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/self/task/" + t.Name() + "/schedstat")
		f := strings.Fields(string(b))
		if err != nil || len(f) < 2 {
			continue
		}
		ran, err1 := strconv.ParseInt(f[0], 10, 64)
		waited, err2 := strconv.ParseInt(f[1], 10, 64)
		if err1 != nil || err2 != nil {
			continue
		}
		if all == nil {
			all = make(map[int]scheduled, len(tasks))
		}
		all[id] = scheduled{time.Duration(ran), time.Duration(waited)}
	}
	return all
}

// Monotonic is the machine's monotonic clock; 0 where processes don't share one.
func Monotonic() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// throttled reads cpu.stat of the worker's own group, if the container shows it: at the root of its cgroup namespace, or,
// as in a virtual machine, where /proc/self/cgroup says. v2 counts microseconds, v1 nanoseconds.
func throttled() Throttled {
	own, _ := os.ReadFile("/proc/self/cgroup")
	for _, dir := range []string{filepath.Join("/sys/fs/cgroup", unifiedGroup(string(own))), "/sys/fs/cgroup"} {
		if b, err := os.ReadFile(filepath.Join(dir, "cpu.stat")); err == nil {
			k := parseKeys(b)
			return Throttled{Periods: k["nr_throttled"], Time: time.Duration(k["throttled_usec"]) * time.Microsecond}
		}
	}
	if b, err := os.ReadFile("/sys/fs/cgroup/cpu/cpu.stat"); err == nil {
		k := parseKeys(b)
		return Throttled{Periods: k["nr_throttled"], Time: time.Duration(k["throttled_time"])}
	}
	return Throttled{}
}

// unifiedGroup is the group of version 2 in /proc/<pid>/cgroup; "/" if there is none, or it is outside this namespace.
func unifiedGroup(text string) string {
	for line := range strings.Lines(text) {
		if group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/"); ok && !strings.Contains("/"+group+"/", "/../") {
			return "/" + group
		}
	}
	return "/"
}

// fdatasync is fdatasync(2), repeated after a signal.
func fdatasync(fd int) error {
	return eintr.Retry(func() error { return unix.Fdatasync(fd) })
}
