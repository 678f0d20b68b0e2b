package workload

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/load"
)

// A window compares the machine's counters at both ends of the measured time.
type window struct {
	before snapshot
	closed bool
	cpus   []CPUDelta // set once it is closed
}

// A snapshot holds counters at one moment. Fields that could not be read are
// zero and their "have" is false.
type snapshot struct {
	at       time.Time
	proc     map[string]int64 // /proc/self/io
	disks    DiskCounts
	cgroup   map[device.Number]CgroupDelta
	cpu      cpuTimes
	cpus     []CPUDelta // counted since the start of the machine
	io       pressure   // /proc/pressure/io
	memory   pressure   // /proc/pressure/memory
	threads  map[int]scheduled
	faults   int64 // major, of this process
	allowed  int   // CPUs that this process may use, 0: not known
	usage    load.Usage
	throttle Throttled
}

// A scheduled is how long a thread has run so far, and how long it was ready to run but had no CPU (/proc/<pid>/schedstat,
// Documentation/scheduler/sched-stats.rst).
type scheduled struct{ ran, waited time.Duration }

// starved is Result.Starved of the threads at two moments that are d apart. It misses threads that ended in between.
func starved(a, b map[int]scheduled, d time.Duration) float64 {
	if a == nil || b == nil || d <= 0 {
		return -1
	}
	var sum, weights float64
	for id, now := range b {
		ran, waited := float64(now.ran-a[id].ran), float64(now.waited-a[id].waited)
		if waited < 0 || ran < 0 {
			continue // Another thread with the same number.
		}
		sum += waited * (ran + waited)
		weights += ran + waited
	}
	if weights == 0 {
		return 0
	}
	return share(sum / weights / float64(d))
}

// A pressure is how long some task has waited for a resource so far (PSI some, total).
type pressure struct {
	total time.Duration
	known bool
}

// share is the share of d in which a task waited since p, -1 if that isn't known.
func (p pressure) share(now pressure, d time.Duration) float64 {
	if !p.known || !now.known || d <= 0 {
		return -1
	}
	return share(float64(now.total-p.total) / float64(d))
}

// cpuTimes are the first line of /proc/stat, in ticks.
type cpuTimes struct {
	total, idle, steal int64
}

// openWindow takes the counters at the beginning.
func openWindow() *window { return &window{before: takeSnapshot(true)} }

// Measure calls f and returns the clock's and the counters' differences, of the process and the machine, and f's error.
func Measure(f func() error) (*Result, error) {
	win := openWindow()
	begin := time.Now()
	err := f()
	end := time.Now()
	r := &Result{IOEngine: Syscalls, Start: begin, Elapsed: end.Sub(begin), WallElapsed: end.Round(0).Sub(begin.Round(0))}
	win.close(r)
	return r, err
}

// close takes the counters at the end and puts the differences into r.
func (w *window) close(r *Result) {
	b := takeSnapshot(false)
	w.closed = true
	w.cpus = cpuDeltas(w.before.cpus, b.cpus)
	r.between(w.before, b)
}

// between puts the differences between two snapshots into r.
func (r *Result) between(a, b snapshot) {
	r.ProcRead, r.ProcWritten = -1, -1
	if a.proc != nil && b.proc != nil {
		r.ProcRead = b.proc["read_bytes"] - a.proc["read_bytes"]
		r.ProcWritten = b.proc["write_bytes"] - a.proc["write_bytes"]
	}
	r.Disks, r.CountsFlushes = a.disks.Until(b.disks)
	r.Cgroup = cgroupDeltas(a.cgroup, b.cgroup)
	r.Host = hostDelta(a, b)
	r.Starved, r.Fetched = starved(a.threads, b.threads, b.at.Sub(a.at)), b.faults-a.faults
	r.Usage = load.Usage{User: b.usage.User - a.usage.User, System: b.usage.System - a.usage.System, MaxRSS: b.usage.MaxRSS}
	r.Throttled = Throttled{Periods: b.throttle.Periods - a.throttle.Periods, Time: b.throttle.Time - a.throttle.Time}
}

// hostDelta is the machine's load between two snapshots.
func hostDelta(a, b snapshot) HostDelta {
	d := b.at.Sub(a.at)
	h := HostDelta{IOSome: a.io.share(b.io, d), MemorySome: a.memory.share(b.memory, d), CPUs: len(b.cpus), Allowed: b.allowed}
	if total := b.cpu.total - a.cpu.total; total > 0 {
		h.CPUBusy = share(1 - float64(b.cpu.idle-a.cpu.idle)/float64(total))
		h.Steal = share(float64(b.cpu.steal-a.cpu.steal) / float64(total))
	}
	return h
}

// share keeps a share between 0 and 1: the counters are not read at one instant,
// and the kernel lets iowait go back (proc(5)).
func share(f float64) float64 { return min(max(f, 0), 1) }

// DiskCounts are the counters of the machine's disks. The zero value is that of a machine without them.
type DiskCounts struct {
	disks   map[string]DiskDelta
	flushes bool // the kernel counts them
}

// ReadDisks reads the counts of the machine whose procfs has the root proc.
func ReadDisks(proc string) DiskCounts {
	f, err := os.Open(filepath.Join(proc, "diskstats"))
	if err != nil {
		return DiskCounts{}
	}
	defer f.Close()
	return parseDiskstats(f)
}

// Known reports whether the machine has counters of its disks.
func (a DiskCounts) Known() bool { return a.disks != nil }

// Until subtracts a from the later counts b, and keeps the disks that did anything. flushes reports whether both count
// flushes.
func (a DiskCounts) Until(b DiskCounts) (ds []DiskDelta, flushes bool) {
	for name, d := range b.disks {
		p := a.disks[name]
		d.Reads = grown(p.Reads, d.Reads)
		d.Writes = grown(p.Writes, d.Writes)
		d.ReadBytes = grown(p.ReadBytes, d.ReadBytes)
		d.WrittenBytes = grown(p.WrittenBytes, d.WrittenBytes)
		d.ReadMerges = grown(p.ReadMerges, d.ReadMerges)
		d.WriteMerges = grown(p.WriteMerges, d.WriteMerges)
		d.ReadTime = grown(p.ReadTime, d.ReadTime)
		d.WriteTime = grown(p.WriteTime, d.WriteTime)
		d.Busy = grown(p.Busy, d.Busy)
		d.Flushes = grown(p.Flushes, d.Flushes)
		d.FlushTime = grown(p.FlushTime, d.FlushTime)
		if d.Reads > 0 || d.Writes > 0 || d.Flushes > 0 || d.Busy > 0 {
			ds = append(ds, d)
		}
	}
	slices.SortFunc(ds, func(a, b DiskDelta) int { return cmp.Compare(a.Name, b.Name) })
	return ds, a.flushes && b.flushes
}

// grown is how much a counter grew. A counter that went back started again from 0: its device was made again, or its 32
// bits overflowed.
func grown[N int64 | time.Duration](before, after N) N {
	if after < before {
		return after
	}
	return after - before
}

// cgroupDeltas subtracts a from b, and keeps every device that the group ever used.
func cgroupDeltas(a, b map[device.Number]CgroupDelta) []CgroupDelta {
	if b == nil {
		return nil
	}
	ds := make([]CgroupDelta, 0, len(b))
	for key, d := range b {
		d.ReadBytes = grown(a[key].ReadBytes, d.ReadBytes)
		d.WrittenBytes = grown(a[key].WrittenBytes, d.WrittenBytes)
		ds = append(ds, d)
	}
	slices.SortFunc(ds, func(a, b CgroupDelta) int { return a.Number.Compare(b.Number) })
	return ds
}

// parseCgroupIO reads cgroup v1's blkio.throttle.io_service_bytes, lines of "254:0 Read 4096", or v2's io.stat, lines of
// "254:0 rbytes=4096 wbytes=0 ..." (Documentation/admin-guide/cgroup-v1/blkio-controller.rst, cgroup-v2.rst). Some kernels
// print v2 devices without figures and without a newline, so that a line begins with several: the figures belong to the
// last. It skips other lines.
func parseCgroupIO(r io.Reader) map[device.Number]CgroupDelta {
	m := map[device.Number]CgroupDelta{}
	for s := bufio.NewScanner(r); s.Scan(); {
		f := strings.Fields(s.Text())
		var key device.Number
		known := false
		for len(f) > 0 {
			k, err := device.ParseNumber(f[0])
			if err != nil {
				break
			}
			key, known, f = k, true, f[1:]
		}
		if !known || len(f) == 0 {
			continue
		}
		d := m[key]
		d.Number = key
		if len(f) == 2 && !strings.Contains(f[0], "=") {
			f = []string{f[0] + "=" + f[1]}
		}
		for _, kv := range f {
			k, v, _ := strings.Cut(kv, "=")
			n, err := strconv.ParseUint(v, 10, 63)
			if err != nil {
				continue
			}
			switch k {
			case "rbytes", "Read":
				d.ReadBytes = int64(n)
			case "wbytes", "Write":
				d.WrittenBytes = int64(n)
			}
		}
		m[key] = d
	}
	return m
}

// sectorSize is the unit of /proc/diskstats for all disks (Documentation/admin-guide/iostats.rst).
const sectorSize = 512

// counterBits bounds a counter of /proc/diskstats, and busyBits its milliseconds,
// so that they still fit as bytes and nanoseconds.
const (
	counterBits = 53
	busyBits    = 42
)

// flushFields is how many fields a line has up to the number of flushes, which Linux counts since 5.5.
const flushFields = 19 // The next one is the milliseconds that they took.

// parseDiskstats reads /proc/diskstats: major, minor, name, then reads completed, merged, sectors, ms; writes the same; in
// flight, ms busy, weighted ms; discards like reads; flushes, ... (Documentation/admin-guide/iostats.rst). It skips lines
// that are short or hold anything but numbers.
func parseDiskstats(r io.Reader) DiskCounts {
	disks := map[string]DiskDelta{}
	counts := DiskCounts{disks: disks}
	for s := bufio.NewScanner(r); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) < 14 {
			continue
		}
		n := make([]int64, flushFields+1)
		var err error
		for i := range min(len(f), len(n)) {
			// In flight, negative on some kernels, is not used, nor the weighted time and the discards.
			if i == 2 || i == 11 || i > 12 && i < flushFields-1 {
				continue
			}
			bits := counterBits
			if i == 6 || i == 10 || i == 12 || i == flushFields {
				bits = busyBits
			}
			v, e := strconv.ParseUint(f[i], 10, bits)
			if e != nil {
				err = e
			}
			n[i] = int64(v)
		}
		if err != nil {
			continue
		}
		disks[f[2]] = DiskDelta{
			Number: device.Number{Major: uint32(n[0]), Minor: uint32(n[1])}, Name: f[2],
			Reads: n[3], ReadBytes: n[5] * sectorSize,
			Writes: n[7], WrittenBytes: n[9] * sectorSize,
			ReadMerges: n[4], ReadTime: time.Duration(n[6]) * time.Millisecond,
			WriteMerges: n[8], WriteTime: time.Duration(n[10]) * time.Millisecond,
			Busy:    time.Duration(n[12]) * time.Millisecond,
			Flushes: n[flushFields-1], FlushTime: time.Duration(n[flushFields]) * time.Millisecond,
		}
		counts.flushes = counts.flushes || len(f) >= flushFields
	}
	return counts
}

// parseKeys reads lines of "key: number" or "key number".
func parseKeys(b []byte) map[string]int64 {
	keys := map[string]int64{}
	for line := range bytes.Lines(b) {
		f := strings.Fields(strings.Replace(string(line), ":", " ", 1))
		if len(f) != 2 {
			continue
		}
		if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
			keys[f[0]] = n
		}
	}
	return keys
}

// parseCPU reads the first line of /proc/stat: cpu user nice system idle iowait
// irq softirq steal ... (proc(5)). iowait counts as idle.
func parseCPU(b []byte) cpuTimes {
	line, _, _ := strings.Cut(string(b), "\n")
	f := strings.Fields(line)
	var t cpuTimes
	if len(f) < 9 || f[0] != "cpu" {
		return t
	}
	for i, v := range f[1:9] {
		n, _ := strconv.ParseInt(v, 10, 64)
		t.total += n
		switch i {
		case 3, 4:
			t.idle += n
		case 7:
			t.steal = n
		}
	}
	return t
}

// parsePressure reads the total of the some line of a pressure file, in
// microseconds (Documentation/accounting/psi.rst).
func parsePressure(b []byte) pressure {
	for line := range strings.Lines(string(b)) {
		if !strings.HasPrefix(line, "some ") {
			continue
		}
		_, v, ok := strings.Cut(strings.TrimSpace(line), "total=")
		n, err := strconv.ParseInt(v, 10, 64)
		return pressure{time.Duration(n) * time.Microsecond, ok && err == nil}
	}
	return pressure{}
}
