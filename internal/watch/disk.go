package watch

import (
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/host/device"
)

// A Disk is the kernel's counters of a whole block device since the device was created: a line of /proc/diskstats
// (Documentation/admin-guide/iostats.rst).
type Disk struct {
	Name   string
	Number device.Number
	// Read, Write and Discard are completed requests. Flushes are not in Write.
	Read, Write, Discard Requests
	// Flushes are requests to empty the device's write cache, FlushTicks their time in milliseconds.
	Flushes    uint64
	FlushTicks uint32
	// Busy is the number of milliseconds with any request under way, Queued the sum of the milliseconds of all
	// requests.
	Busy, Queued uint32
}

// Requests are the counters of one kind of request.
type Requests struct {
	// IOs are completed requests, Merges those merged into others before.
	IOs, Merges uint64
	// Sectors have 512 bytes on every device.
	Sectors uint64
	// Ticks are milliseconds. The kernel prints 32 bits of them, which wrap around after 50 days of waiting.
	Ticks uint32
}

// A DiskUse is a device's line of iostat -x, under the names of iostat -o JSON, computed in the same way
// (write_ext_stat in sysstat's iostat.c). Sizes are in KiB, times in milliseconds.
type DiskUse struct {
	Name     string        `json:"disk_device"`
	Number   device.Number `json:"number"`
	ReadsS   float64       `json:"r/s"`
	WritesS  float64       `json:"w/s"`
	DiscardS float64       `json:"d/s"`
	FlushesS float64       `json:"f/s"`
	ReadKBS  float64       `json:"rkB/s"`
	WriteKBS float64       `json:"wkB/s"`
	DiscKBS  float64       `json:"dkB/s"`
	ReadMS   float64       `json:"rrqm/s"`
	WriteMS  float64       `json:"wrqm/s"`
	DiscMS   float64       `json:"drqm/s"`
	ReadMPC  float64       `json:"rrqm"`
	WriteMPC float64       `json:"wrqm"`
	DiscMPC  float64       `json:"drqm"`
	ReadAw   float64       `json:"r_await"`
	WriteAw  float64       `json:"w_await"`
	DiscAw   float64       `json:"d_await"`
	FlushAw  float64       `json:"f_await"`
	ReadSz   float64       `json:"rareq-sz"`
	WriteSz  float64       `json:"wareq-sz"`
	DiscSz   float64       `json:"dareq-sz"`
	Queue    float64       `json:"aqu-sz"`
	Util     float64       `json:"util"`
	Beneath  []string      `json:"beneath"`
	// Active is set if any request was completed: iostat -z leaves out other devices.
	Active bool `json:"active"`
	// Read and Write are the bytes and I/Os behind the rates.
	Read  Flow `json:"read"`
	Write Flow `json:"write"`
}

// parseDisks reads /proc/diskstats. whole reports whether a name is a whole device's; partitions are left out, as
// iostat does.
func parseDisks(text string, whole func(name string) bool) ([]Disk, error) {
	var out []Disk
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 3 || !whole(f[2]) {
			continue
		}
		number, err := device.ParseNumber(f[0] + ":" + f[1])
		if err != nil {
			return nil, fmt.Errorf("/proc/diskstats: %w", err)
		}
		// 11 numbers; discards since Linux 4.18, flushes since 5.5.
		if len(f) < 14 {
			return nil, fmt.Errorf("/proc/diskstats: %q has fewer than 11 numbers", strings.TrimSpace(line))
		}
		var n [17]uint64
		for i := range min(len(n), len(f)-3) {
			v, err := strconv.ParseUint(f[3+i], 10, 64)
			if err != nil {
				// Requests in flight were negative in old kernels; they are not needed here.
				if i == 8 {
					continue
				}
				return nil, fmt.Errorf("/proc/diskstats: %s: %q is not a count", f[2], f[3+i])
			}
			n[i] = v
		}
		requests := func(i int) Requests { return Requests{n[i], n[i+1], n[i+2], uint32(n[i+3])} }
		out = append(out, Disk{
			Name: f[2], Number: number, Read: requests(0), Write: requests(4), Discard: requests(11),
			Busy: uint32(n[9]), Queued: uint32(n[10]), Flushes: n[15], FlushTicks: uint32(n[16]),
		})
	}
	return out, nil
}

// since is a disk's use between two samples.
func (d Disk) since(b Disk, seconds float64) DiskUse {
	if d.begins(b) {
		b = Disk{}
	}
	u := DiskUse{Name: d.Name, Number: d.Number}
	u.Active = d.Read.IOs != b.Read.IOs || d.Write.IOs != b.Write.IOs || d.Discard.IOs != b.Discard.IOs || d.Flushes != b.Flushes
	u.ReadsS, u.ReadKBS, u.ReadMS, u.ReadMPC, u.ReadAw, u.ReadSz = d.Read.since(b.Read, seconds)
	u.WritesS, u.WriteKBS, u.WriteMS, u.WriteMPC, u.WriteAw, u.WriteSz = d.Write.since(b.Write, seconds)
	u.DiscardS, u.DiscKBS, u.DiscMS, u.DiscMPC, u.DiscAw, u.DiscSz = d.Discard.since(b.Discard, seconds)
	flushes := grown(d.Flushes, b.Flushes)
	u.FlushesS = float64(flushes) / seconds
	if flushes > 0 {
		u.FlushAw = float64(d.FlushTicks-b.FlushTicks) / float64(flushes)
	}
	u.Queue = float64(ticked(d.Queued, b.Queued)) / 1000 / seconds
	u.Util = float64(ticked(d.Busy, b.Busy)) / 10 / seconds
	u.Read = flow(int64(grown(d.Read.Sectors, b.Read.Sectors)*512), int64(grown(d.Read.IOs, b.Read.IOs)), seconds)
	u.Write = flow(int64(grown(d.Write.Sectors, b.Write.Sectors)*512), int64(grown(d.Write.IOs, b.Write.IOs)), seconds)
	return u
}

// since are the columns of one kind: rate, KiB/s, merges/s, merges in percent, milliseconds per request, KiB per
// request.
func (r Requests) since(b Requests, seconds float64) (rate, kbs, merges, percent, await, size float64) {
	ios, sectors, merged := grown(r.IOs, b.IOs), grown(r.Sectors, b.Sectors), grown(r.Merges, b.Merges)
	rate, kbs, merges = float64(ios)/seconds, float64(sectors)/2/seconds, float64(merged)/seconds
	if ios+merged > 0 {
		percent = float64(merged) / float64(merged+ios) * 100
	}
	if ios > 0 {
		await = float64(r.Ticks-b.Ticks) / float64(ios)
		size = float64(sectors) / 2 / float64(ios)
	}
	return rate, kbs, merges, percent, await, size
}

// begins reports whether d is another device than b, which had the name before: every byte counter is smaller. This
// is sysstat's own rule (write_stats in iostat.c).
func (d Disk) begins(b Disk) bool {
	ios := func(d Disk) uint64 { return d.Read.IOs + d.Write.IOs + d.Discard.IOs + d.Flushes }
	less := func(now, before Requests) bool { return before.Sectors == 0 || now.Sectors < before.Sectors }
	return ios(d) < ios(b) && less(d.Read, b.Read) && less(d.Write, b.Write) && less(d.Discard, b.Discard)
}

// grown is the increase of a 64-bit counter, 0 if it fell.
func grown(now, before uint64) uint64 {
	if now < before {
		return 0
	}
	return now - before
}

// ticked is the increase of a 32-bit counter. One that fell a little was corrected (0, as in sysstat); one that fell
// by more than half of its range wrapped around.
func ticked(now, before uint32) uint32 {
	if now < before && before-now < 1<<31 {
		return 0
	}
	return now - before
}
