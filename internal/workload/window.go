package workload

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/load"
)

// A window compares the machine's counters at both ends of the measured time.
type window struct {
	before snapshot
	closed bool
	cpus   []CPUDelta // once it is closed
}

// A snapshot holds counters at one moment. Fields that could not be read are
// zero and their "have" is false.
type snapshot struct {
	at       time.Time
	proc     map[string]int64 // /proc/self/io
	disks    map[string]DiskDelta
	cgroup   map[[2]uint32]CgroupDelta
	cpu      cpuTimes
	cpus     []CPUDelta    // times since the start of the machine
	pressure time.Duration // PSI io some, total
	havePSI  bool
	usage    load.Usage
	throttle Throttled
}

// cpuTimes are the first line of /proc/stat, in ticks.
type cpuTimes struct {
	total, idle, steal int64
}

// openWindow takes the counters at the beginning.
func openWindow() *window { return &window{before: takeSnapshot(true)} }

// Measure calls f and returns what happened meanwhile, by the clock and by the counters of the process and the machine; and f's
// error.
func Measure(f func() error) (*Result, error) {
	win := openWindow()
	begin := time.Now()
	err := f()
	end := time.Now()
	r := &Result{IOEngine: Syscalls, Start: begin, Elapsed: end.Sub(begin), WallElapsed: end.Round(0).Sub(begin.Round(0))}
	win.close(r)
	return r, err
}

// close takes them at the end and puts the differences into r.
func (w *window) close(r *Result) {
	b := takeSnapshot(false)
	w.closed = true
	w.cpus = cpuDeltas(w.before.cpus, b.cpus)
	r.between(w.before, b)
}

// between puts what happened between two snapshots into r.
func (r *Result) between(a, b snapshot) {
	r.ProcRead, r.ProcWritten = -1, -1
	if a.proc != nil && b.proc != nil {
		r.ProcRead = b.proc["read_bytes"] - a.proc["read_bytes"]
		r.ProcWritten = b.proc["write_bytes"] - a.proc["write_bytes"]
	}
	r.Disks = diskDeltas(a.disks, b.disks)
	r.Cgroup = cgroupDeltas(a.cgroup, b.cgroup)
	r.Host = hostDelta(a, b)
	r.Usage = load.Usage{User: b.usage.User - a.usage.User, System: b.usage.System - a.usage.System, MaxRSS: b.usage.MaxRSS}
	r.Throttled = Throttled{b.throttle.Periods - a.throttle.Periods, b.throttle.Time - a.throttle.Time}
}

// hostDelta is the machine's load between two snapshots.
func hostDelta(a, b snapshot) HostDelta {
	h := HostDelta{IOSome: -1, CPUs: len(b.cpus)}
	if total := b.cpu.total - a.cpu.total; total > 0 {
		h.CPUBusy = share(1 - float64(b.cpu.idle-a.cpu.idle)/float64(total))
		h.Steal = share(float64(b.cpu.steal-a.cpu.steal) / float64(total))
	}
	if d := b.at.Sub(a.at); a.havePSI && b.havePSI && d > 0 {
		h.IOSome = share(float64(b.pressure-a.pressure) / float64(d))
	}
	return h
}

// share keeps a share between 0 and 1: the counters are not read at one instant,
// and the kernel lets iowait go back (proc(5)).
func share(f float64) float64 { return min(max(f, 0), 1) }

// diskDeltas subtracts, keeping the disks that did anything.
func diskDeltas(a, b map[string]DiskDelta) []DiskDelta {
	var ds []DiskDelta
	for name, d := range b {
		p := a[name]
		d.Reads = grown(p.Reads, d.Reads)
		d.Writes = grown(p.Writes, d.Writes)
		d.ReadBytes = grown(p.ReadBytes, d.ReadBytes)
		d.WrittenBytes = grown(p.WrittenBytes, d.WrittenBytes)
		d.ReadMerges = grown(p.ReadMerges, d.ReadMerges)
		d.WriteMerges = grown(p.WriteMerges, d.WriteMerges)
		d.ReadTime = grown(p.ReadTime, d.ReadTime)
		d.WriteTime = grown(p.WriteTime, d.WriteTime)
		d.Busy = grown(p.Busy, d.Busy)
		if d.Reads > 0 || d.Writes > 0 || d.Busy > 0 {
			ds = append(ds, d)
		}
	}
	slices.SortFunc(ds, func(a, b DiskDelta) int { return cmp.Compare(a.Name, b.Name) })
	return ds
}

// grown is how much a counter grew. One that went back began anew: its device
// was made again, or its 32 bits were full.
func grown[N int64 | time.Duration](before, after N) N {
	if after < before {
		return after
	}
	return after - before
}

// cgroupDeltas subtracts, keeping every device that the group ever used.
func cgroupDeltas(a, b map[[2]uint32]CgroupDelta) []CgroupDelta {
	if b == nil {
		return nil
	}
	ds := make([]CgroupDelta, 0, len(b))
	for key, d := range b {
		d.ReadBytes = grown(a[key].ReadBytes, d.ReadBytes)
		d.WrittenBytes = grown(a[key].WrittenBytes, d.WrittenBytes)
		ds = append(ds, d)
	}
	slices.SortFunc(ds, func(a, b CgroupDelta) int {
		return cmp.Or(cmp.Compare(a.Major, b.Major), cmp.Compare(a.Minor, b.Minor))
	})
	return ds
}

// parseCgroupIO reads cgroup v1's blkio.throttle.io_service_bytes, lines of
// "254:0 Read 4096", or v2's io.stat, lines of "254:0 rbytes=4096 wbytes=0 ..."
// (Documentation/admin-guide/cgroup-v1/blkio-controller.rst, cgroup-v2.rst).
// Some kernels print v2 devices that have no figures without a newline, so that
// a line begins with several: the figures belong to the last. What is no line of
// either is passed over.
func parseCgroupIO(r io.Reader) map[[2]uint32]CgroupDelta {
	m := map[[2]uint32]CgroupDelta{}
	for s := bufio.NewScanner(r); s.Scan(); {
		f := strings.Fields(s.Text())
		var key [2]uint32
		known := false
		for len(f) > 0 {
			k, ok := parseDevice(f[0])
			if !ok {
				break
			}
			key, known, f = k, true, f[1:]
		}
		if !known || len(f) == 0 {
			continue
		}
		d := m[key]
		d.Major, d.Minor = key[0], key[1]
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

// parseDevice reads "254:0".
func parseDevice(s string) (key [2]uint32, ok bool) {
	major, minor, ok := strings.Cut(s, ":")
	ma, err1 := strconv.ParseUint(major, 10, 32)
	mi, err2 := strconv.ParseUint(minor, 10, 32)
	return [2]uint32{uint32(ma), uint32(mi)}, ok && err1 == nil && err2 == nil
}

// sectorSize is the unit of /proc/diskstats, whatever the disk's own
// (Documentation/admin-guide/iostats.rst).
const sectorSize = 512

// counterBits bounds a counter of /proc/diskstats, and busyBits its milliseconds,
// so that they still fit as bytes and nanoseconds.
const (
	counterBits = 53
	busyBits    = 42
)

// parseDiskstats reads /proc/diskstats: major, minor, name, then reads
// completed, merged, sectors, ms; writes the same; in flight, ms busy, ...
// (Documentation/admin-guide/iostats.rst). Lines that are short or hold anything
// but numbers are passed over.
func parseDiskstats(r io.Reader) map[string]DiskDelta {
	disks := map[string]DiskDelta{}
	for s := bufio.NewScanner(r); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) < 14 {
			continue
		}
		n := make([]int64, 14)
		var err error
		for i := range n {
			if i == 2 || i == 11 { // In flight is negative on some kernels, and not used.
				continue
			}
			bits := counterBits
			if i == 6 || i == 10 || i == 12 {
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
			Major: uint32(n[0]), Minor: uint32(n[1]), Name: f[2],
			Reads: n[3], ReadBytes: n[5] * sectorSize,
			Writes: n[7], WrittenBytes: n[9] * sectorSize,
			ReadMerges: n[4], ReadTime: time.Duration(n[6]) * time.Millisecond,
			WriteMerges: n[8], WriteTime: time.Duration(n[10]) * time.Millisecond,
			Busy: time.Duration(n[12]) * time.Millisecond,
		}
	}
	return disks
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
func parsePressure(b []byte) (time.Duration, bool) {
	for line := range strings.Lines(string(b)) {
		if !strings.HasPrefix(line, "some ") {
			continue
		}
		_, v, ok := strings.Cut(strings.TrimSpace(line), "total=")
		n, err := strconv.ParseInt(v, 10, 64)
		return time.Duration(n) * time.Microsecond, ok && err == nil
	}
	return 0, false
}
