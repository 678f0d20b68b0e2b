package check

import (
	"testing"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// largeReads is a job that read 1,000 blocks of 256 KiB, of a device that did so many I/Os and read so many bytes besides.
func largeReads(ios, others int64) func(*record.Trial) {
	return func(t *record.Trial) {
		t.Spec.Job.BS = 256 * kib
		t.Results[0].Classes[0].Ops = 1000
		t.Results[0].Disks[0].Reads = ios
		reads(t, 1000*256*kib, 1000*256*kib, 1000*256*kib+others)
	}
}

func TestNeighbour(t *testing.T) {
	host := func(set func(*workload.HostDelta)) func(*record.Trial) {
		return func(t *record.Trial) { set(&t.Results[0].Host) }
	}
	written := func(n int64) func(*record.Trial) {
		return func(t *record.Trial) { t.Results[0].Disks[0].WrittenBytes = n; retruth(t) }
	}
	testRows(t, []row{
		// A fifth of all is a quarter of the 80 MiB asked; the slack comes on top.
		// 1.25 x 20 MiB: the slack is granted on the foreign bytes, not on the total.
		{"others write, at the limit", written(20*mib + inFlightSlack), ""},
		{"others write", written(21*mib + 5*inFlightSlack/4), "neighbour/doubt"},
		{"a journal's worth", func(t *record.Trial) { reads(t, mib, mib, mib); written(commitBytes + inFlightSlack)(t) }, ""},
		// A slow disk that a neighbour takes half of, in a short window.
		{"others write to a slow disk", func(t *record.Trial) { reads(t, 512*kib, 512*kib, 512*kib); written(512*kib + inFlightSlack/2)(t) }, "neighbour/doubt"},
		{"the journals of a long window", func(t *record.Trial) {
			reads(t, mib, mib, mib)
			t.Results[0].Elapsed, t.Results[0].WallElapsed = 4*commitEvery, 4*commitEvery
			written(5*commitBytes + inFlightSlack)(t)
		}, ""},
		// 1,000 reads of 256 KiB, and 2,000 of 4 KiB that are another's, with 3 % of the bytes.
		{"others read small blocks", largeReads(3000, 8000*kib), "neighbour/doubt"},
		{"clients that began apart", func(t *record.Trial) {
			largeReads(2900, 8000*kib)(t)
			t.StartSkew = 250 * time.Millisecond
		}, ""},
		{"large blocks that are cut", largeReads(3000, 100*kib), ""},
		{"large blocks in two pieces each", largeReads(2000, 0), ""},
		{"wal's own journal", func(t *record.Trial) { named(t, workload.WAL, 10*mib, 80*mib) }, "amplification/note"},
		{"wait at the limit", host(func(h *workload.HostDelta) { h.CPUWait = 0.2 }), ""},
		{"wait", host(func(h *workload.HostDelta) { h.CPUWait = 0.41 }), "neighbour/doubt"},
		{"steal at the limit", host(func(h *workload.HostDelta) { h.Steal = 0.05 }), ""},
		{"steal", host(func(h *workload.HostDelta) { h.Steal = 0.051 }), "neighbour/doubt"},
		{"steal of a tick in a short window", func(t *record.Trial) {
			t.Results[0].Elapsed, t.Results[0].WallElapsed = 101*ms, 101*ms
			t.Results[0].Host.Steal = 0.07
		}, ""},
		// The worker's own CPU is 150 of 4 x 500 ms: 0.075.
		{"others' CPU at the limit", host(func(h *workload.HostDelta) { h.CPUBusy = 0.325 }), ""},
		{"others' CPU", host(func(h *workload.HostDelta) { h.CPUBusy = 0.33 }), "neighbour/note"},
		{"no CPU left", host(func(h *workload.HostDelta) { h.CPUBusy = 0.95 }), "neighbour/doubt"},
		{"the only CPU of a virtual machine", func(t *record.Trial) {
			t.Results[0].Usage, t.Results[0].Disks[0].Busy = load.Usage{User: 450 * ms}, 250*ms
			t.Results[0].Host.CPUs, t.Results[0].Host.CPUBusy = 1, 0.95
		}, ""},
		{"waits, its own", host(func(h *workload.HostDelta) { h.IOSome = 1 }), ""},
		{"others read beside append", func(t *record.Trial) {
			named(t, workload.Append, 640*kib, 0)
			t.Results[0].Disks[0].ReadBytes = 200 * mib
			retruth(t)
		}, "neighbour/note"},
		{"others read beside wal", func(t *record.Trial) {
			named(t, workload.WAL, 10*mib, 10*mib)
			t.Results[0].Disks[0].ReadBytes = 200 * mib
			retruth(t)
		}, "neighbour/doubt"},
		{"waits of others", func(t *record.Trial) {
			named(t, workload.Append, 640*kib, 0)
			t.Results[0].Host.IOSome = 0.21
		}, "cache/note neighbour/note"},
		{"a ring's own waits on tmpfs", func(t *record.Trial) {
			t.Where[0].FSType, t.Where[0].Device = "tmpfs", nil
			t.Results[0].ProcRead, t.Results[0].Host.IOSome = 0, 1
			retruth(t)
		}, "cache/note"},
		{"hardly waits of others", func(t *record.Trial) {
			named(t, workload.Append, 640*kib, 0)
			t.Results[0].Host.IOSome = 0.2
		}, "cache/note"},
	})
}
