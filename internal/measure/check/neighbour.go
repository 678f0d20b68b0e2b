package check

import (
	"math"
	"strings"
	"time"

	"plimsoll/internal/measure/record"
)

const (
	// foreignShare is the share of the device's bytes above which those that aren't the worker's count as a neighbour's. A
	// journal, a log or a time stamp moves less than commitBytes for each commit of a journal, which is every 5 s (ext4's
	// commit=), and never more than foreignFloor.
	foreignShare = 0.2
	foreignFloor = 1 << 20
	commitBytes  = 64 << 10
	commitEvery  = 5 * time.Second
	// pieceBytes is the least size at which a device's driver cuts one I/O into several (max_sectors_kb). leastIO is the
	// size of a page; few I/Os are smaller.
	pieceBytes = 128 << 10
	leastIO    = 4 << 10
	// stolen is the share of CPU time that a hypervisor may take: the margin that figures are compared with. stolenFloor is
	// three of the kernel's ticks of 10 ms.
	stolen      = 0.05
	stolenFloor = 30 * time.Millisecond
	// waitedCPU is the share of time for which the processors of a virtual machine may wait. On a quiet computer its own
	// threads and the share's daemon wait for each other for some of it.
	waitedCPU = 0.2
	// othersCPU is the share of all CPUs that others may use; allBusy is the share from which the machine has none left.
	othersCPU = 0.25
	allBusy   = 0.95
	// othersWait is the share of time in which tasks waited for I/O while the
	// trial itself, a named workload, did none.
	othersWait = 0.2
)

// checkNeighbour is check 10: was the trial alone on the device and the machine?
func checkNeighbour(v *view) []record.Warning {
	out := append(v.foreignBytes(), v.foreignFlushes()...)
	out = append(out, v.steal()...)
	out = append(out, v.waitForCPU()...)
	out = append(out, v.otherCPU()...)
	return append(out, v.otherWaits()...)
}

// foreignBytes reports I/O on the device, or on one beneath it, that was not the worker's. It judges only where the
// worker's share is known: for reads, the bytes charged to it; for direct writes, its overwrites; for synced writes, these
// plus the most that file systems add to a sync.
func (v *view) foreignBytes() []record.Warning {
	if !v.onDisk() {
		return nil
	}
	var out []record.Warning
	for _, m := range v.moves() {
		if w := v.foreignIOs(m); w != nil {
			out = append(out, w...)
			continue
		}
		if m.foreign -= v.slack; m.foreign <= foreignShare*m.total || m.foreign <= v.noise(m.fs) {
			continue
		}
		e := map[string]any{"foreign": m.foreign, "device": m.total, "name": m.device, "app": v.read.app + v.written.app}
		severity, text := record.Doubt, "%s of the %s that %s moved in the window were not this worker's: something else was using the device."
		if v.waitsForNoDisk() {
			severity, text = record.Note, "%s of the %s that %s moved in the window were not this worker's. This trial itself waited for no disk."
		}
		out = append(out, warning(Neighbour, severity, e, text, bytes(m.foreign), bytes(m.total), m.device)...)
	}
	return out
}

// foreignIOs reports a neighbour of few bytes and many I/Os. Beside a job with large blocks its share of the bytes is
// small, but it uses up the I/Os a second that the device can do. The check judges direct jobs that don't sync, which do
// one I/O for each operation, or for each piece of one. As an operation may be cut into still more pieces, the foreign
// bytes have to be there, too: 4 KiB for each foreign I/O.
func (v *view) foreignIOs(m move) []record.Warning {
	r := longest(v.results)
	if !v.block || !v.direct || v.synced || r == nil || m.foreign <= v.noise(m.fs) {
		return nil
	}
	d, ok := disk(r, m.device)
	if !ok {
		return nil
	}
	j := v.t.Spec.Job
	_, _, most := j.BlockSizes()
	own := float64(ops(v.results) + 2*int64(max(j.IODepth, 1)*max(j.NumJobs, 1)*len(v.results)))
	// I/O that a client does outside of its own window may lie within the longest client's window.
	own *= (1 + min(1, float64(v.t.StartSkew)/float64(max(v.elapsed, 1)))) * math.Ceil(float64(most)/pieceBytes)
	all := float64(d.Reads + d.Writes)
	foreign := min(all-own, m.foreign/leastIO)
	if foreign <= foreignShare*all || m.foreign-v.slack > foreignShare*m.total {
		return nil // foreignBytes has reported it.
	}
	e := map[string]any{"foreign_ios": foreign, "device_ios": all, "name": m.device}
	return warning(Neighbour, record.Doubt, e, "At least %.0f of the %.0f I/Os that %s did in the window were not this worker's: something else was using the device.", foreign, all, m.device)
}

// noise is how many bytes a file system moves in the window on its own. It has to be small where the window is short: a
// neighbour that takes half of a disk of 100 I/Os a second moves 200 KiB in a second.
func (v *view) noise(fs string) float64 {
	commits := 1 + int(v.elapsed/commitEvery)
	return min(foreignFloor, float64(commits)*max(commitBytes, added(fs)))
}

// A move is how many bytes a device moved in the window, and how many of them were not the worker's. fs is the file system
// on it, if any.
type move struct {
	device, fs     string
	total, foreign float64
}

// moves compares the device with what the worker asked for, and each device beneath with the one above it.
func (v *view) moves() []move {
	top := move{device: v.truth.Device, fs: v.where.FSType, total: v.read.device + v.written.device}
	if v.read.proc >= 0 || v.direct {
		top.foreign += v.excess(v.read)
	}
	s := v.syncsOf()
	if a := added(v.where.FSType); v.direct && !v.synced {
		top.foreign += v.excess(v.written)
	} else if s.all > 0 && a > 0 && !strings.Contains(v.where.Options, "data=journal") {
		top.foreign += max(0, v.excess(v.written)-float64(s.all)*a)
	}
	all := []move{top}
	for i := 1; i < len(v.truth.Layers); i++ {
		above, l := v.truth.Layers[i-1], v.truth.Layers[i]
		if !l.Passed || l.Host || l.On != "" && added(l.On) == 0 {
			continue
		}
		read, written := float64(above.Read), float64(above.Written)
		if l.Cached {
			read *= readAhead
		}
		if strings.Contains(l.On, "btrfs") {
			read, written = read*copied, written*copied
		}
		if l.On != "" {
			written += float64(max(above.Flushes, s.all)) * added(l.On)
		}
		all = append(all, move{l.Name(), l.On, float64(l.Read + l.Written), max(0, float64(l.Read)-read) + max(0, float64(l.Written)-written)})
	}
	return all
}

const (
	// readAhead is how many times more a page cache may read than it is asked for: half of the bytes read ahead may be of
	// no use.
	readAhead = 2
	// copied is how many times more a copy-on-write file system moves, with its checksums and trees.
	copied = 4
)

// added is the most bytes that a file system writes for one sync, beyond those that it charges to the writer: the blocks of
// a journal's commit and later their copies in place, or the second copies of btrfs's trees. It is twice what was measured
// for commits of 2,300 bytes and flushes of a loop device's file: 2 to 7 KiB on ext4 and xfs, 47 to 69 KiB on btrfs. 0 is
// unknown.
func added(fs string) float64 {
	for _, a := range []struct {
		fs    string
		bytes float64
	}{{"btrfs", 128 << 10}, {"ext4", 16 << 10}, {"ext3", 16 << 10}, {"ext2", 16 << 10}, {"xfs", 16 << 10}} {
		if strings.Contains(fs, a.fs) {
			return a.bytes
		}
	}
	return 0
}

// waitsForNoDisk reports whether the trial's figure can't depend on the device: its writes stay in the page cache and were
// not synced, and its reads, if any, came from there.
func (v *view) waitsForNoDisk() bool {
	if v.direct || v.synced {
		return false
	}
	return v.read.app <= 0 || v.read.proc >= 0 && contains(charges, v.where.FSType) && v.read.proc < noneReached*v.read.app
}

// excess is what the device did beyond the worker's I/O: beyond what the kernel charged to it where that is exact, or else
// beyond all it asked for.
func (v *view) excess(f flow) float64 {
	own := max(f.proc, f.group)
	if f.name == "written" || f.proc < 0 || !contains(charges, v.where.FSType) {
		own = max(own, f.app)
	}
	return max(0, f.device-own)
}

// machineCPUs is how many CPUs the worker's machine has by its own account, since it may be a virtual machine of this one;
// 0 if unknown.
func (v *view) machineCPUs() int {
	if n := v.host().CPUs; n > 0 {
		return n
	}
	return max(v.run.Machine.CPUs, v.run.Ceiling.CPUs)
}

// steal reports CPU time that the hypervisor gave to others.
func (v *view) steal() []record.Warning {
	share := v.host().Steal
	taken := time.Duration(share * float64(v.elapsed) * float64(max(1, v.machineCPUs())))
	if !(share > stolen) || taken < stolenFloor {
		return nil
	}
	return warning(Neighbour, record.Doubt, map[string]any{"steal": share}, "The hypervisor took %s of the CPU time (steal) for other machines.", percent(share))
}

// waitForCPU reports that the worker's virtual machine had to wait because this machine had other work. Each operation on a
// share passes through several programs here, and each of these switches waits.
func (v *view) waitForCPU() []record.Warning {
	share := v.host().CPUWait
	if !(share > waitedCPU) || time.Duration(share*float64(v.elapsed)) < stolenFloor {
		return nil
	}
	return warning(Neighbour, record.Doubt, map[string]any{"cpu_wait": share},
		"The virtual machine's processors waited for %s of their time, because the CPUs of this computer had other work.", percent(share))
}

// otherCPU reports CPU time that was not the worker's.
func (v *view) otherCPU() []record.Warning {
	n := v.machineCPUs()
	if n == 0 || v.elapsed <= 0 {
		return nil
	}
	h := v.host()
	others := v.othersCPU() / float64(n)
	if !(others > othersCPU) || time.Duration(others*float64(v.elapsed)*float64(n)) < stolenFloor {
		return nil
	}
	e := map[string]any{"cpu_busy": h.CPUBusy, "others": others}
	if h.CPUBusy >= allBusy {
		return warning(Neighbour, record.Doubt, e, "All CPUs were busy, %s of them with work other than the worker's.", percent(others))
	}
	return warning(Neighbour, record.Note, e, "Work other than the worker's used %s of the CPUs (this includes the kernel's work for the worker's I/O).", percent(others))
}

// othersCPU is how many of the machine's CPUs other work used on average.
func (v *view) othersCPU() float64 {
	return float64(v.machineCPUs())*v.host().CPUBusy - v.cpu().Seconds()/v.elapsed.Seconds()
}

// usedNoDisk reports whether the trial's I/O went to memory, by its place or by the page cache.
func (v *view) usedNoDisk() bool {
	if v.memory {
		return true
	}
	did, device := v.read.app+v.written.app, v.read.device+v.written.device
	return v.onDisk() && did > 0 && device <= foreignFloor && v.mostly().share(0) < noneReached
}

// otherWaits reports tasks that waited for I/O while the trial did none itself.
func (v *view) otherWaits() []record.Warning {
	if v.block {
		// A thread that waits for its ring counts as waiting for I/O, on tmpfs too.
		return nil
	}
	waits := v.host().IOSome
	if !v.usedNoDisk() || !(waits > othersWait) {
		return nil
	}
	return warning(Neighbour, record.Note, map[string]any{"io_some": waits}, "Tasks waited for I/O for %s of the time, although this trial used no disk: others were using the disks.", percent(waits))
}
