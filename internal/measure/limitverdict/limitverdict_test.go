package limitverdict

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// trial is one of clients that write or read n bytes in I/Os of 4 KiB within a second, each under a limit.
func trial(job load.Job, class string, asked []limit.Applied, bytes ...int64) *record.Trial {
	job.BS = 4096
	t := &record.Trial{Status: record.Done, Spec: workload.Spec{Kind: workload.Block, Job: job}}
	for _, n := range bytes {
		t.Results = append(t.Results, workload.Result{
			Elapsed: time.Second, Classes: []load.Class{{Name: class, Ops: n / 4096, Bytes: n}}, File: workload.FileState{DirectOpen: job.Direct},
			Disks: []workload.DiskDelta{{Number: device.Number{Major: 7}, Writes: 100, WrittenBytes: 4 << 20, Reads: 10, ReadBytes: 1 << 20}},
		})
		t.Where = append(t.Where, record.Where{Device: &record.Device{Name: "loop0", Number: device.Number{Major: 7}}, Held: &limit.Held{Applied: asked}})
	}
	return t
}

// in sets the length of a trial's window.
func in(t *record.Trial, d time.Duration) *record.Trial {
	for i := range t.Results {
		t.Results[i].Elapsed = d
	}
	return t
}

func TestOf(t *testing.T) {
	const mib = 1 << 20
	group := func(k limit.Key, v float64) []limit.Applied {
		return []limit.Applied{{Key: k, Value: v, Device: "loop0", Number: record.Device{Number: device.Number{Major: 7}}.Number, By: limit.ByGroup}}
	}
	direct, buffered := load.Job{RW: load.Write, Direct: true}, load.Job{RW: load.Write}
	flushed := trial(buffered, "write", group(limit.WriteBPS, 10*mib), 400*mib)
	flushed.Results[0].Settled, flushed.Results[0].Flushed = 9*time.Second, &workload.Flushed{Bytes: 96 * mib, Writes: 900}
	leaked := trial(buffered, "write", group(limit.WriteBPS, 10*mib), 400*mib)
	leaked.Results[0].Settled, leaked.Results[0].Flushed = time.Second, &workload.Flushed{Bytes: 396 * mib}
	// A neighbour writes 4000 MiB to the device meanwhile.
	beside := trial(buffered, "write", group(limit.WriteBPS, 10*mib), 100*mib)
	beside.Results[0].Settled, beside.Results[0].Flushed = 9*time.Second, &workload.Flushed{Bytes: 4096 * mib}
	lazy := trial(buffered, "write", group(limit.WriteBPS, 10*mib), 50*mib)
	lazy.Results[0].Disks[0].WrittenBytes, lazy.Results[0].Settled, lazy.Results[0].Flushed = 40*mib, 9*time.Second, &workload.Flushed{Bytes: 59*mib + 100<<10}
	log := trial(load.Job{}, "commit", group(limit.WriteBPS, 10*mib), 10*mib)
	log.Spec = workload.Spec{Kind: workload.WAL, BS: 8192}
	log.Results[0].Classes = append(log.Results[0].Classes, load.Class{Name: "write", Ops: 2560, Bytes: 10 * mib}, load.Class{Name: "sync", Ops: 2560})
	failed := trial(direct, "write", group(limit.WriteBPS, 10*mib), 10*mib)
	failed.Status = record.Failed
	unlimited := trial(direct, "write", nil, mib)
	unlimited.Where[0].Held = nil
	// The kernel has less for the second client.
	unlike := trial(direct, "write", group(limit.WriteBPS, 10*mib), 10*mib, 5*mib)
	unlike.Where[1].Held = &limit.Held{Applied: group(limit.WriteBPS, mib)}
	synced := buffered
	synced.FDataSync = 1
	for _, x := range []struct {
		name  string
		trial *record.Trial
		want  string
	}{
		{"reached", trial(direct, "write", group(limit.WriteBPS, 10*mib), 10*mib), "held: asked 10 MiB/s, saw 10 MiB/s (+0.0 %)"},
		{"within the tolerance", trial(direct, "write", group(limit.WriteBPS, 10*mib), 10*mib+400<<10), "held: asked 10 MiB/s, saw 10.4 MiB/s (+3.9 %)"},
		// These were called held.
		{"more than the tolerance", trial(direct, "write", group(limit.WriteBPS, 10*mib), 10*mib+540<<10), "unproved: asked 10 MiB/s, saw 10.5 MiB/s (+5.3 %); too short: in 1 s up to 20 % more than the limit can come through; 4 s would tell"},
		{"the first slice and one that came late", trial(direct, "write", group(limit.WriteBPS, 10*mib), 12*mib), "unproved: asked 10 MiB/s, saw 12 MiB/s (+20.0 %); too short: in 1 s up to 20 % more than the limit can come through; 4 s would tell"},
		{"two slices of a window of two", in(trial(direct, "read", group(limit.ReadIOPS, 500), 740*4096/5), 200*time.Millisecond), "unproved: asked 500 IOPS, saw 740 IOPS (+48.0 %); too short: in 200 ms up to 101 % more than the limit can come through; 4 s would tell"},
		{"at the limit in a window of two slices", in(trial(direct, "read", group(limit.ReadIOPS, 500), 500*4096/5), 200*time.Millisecond), "unproved: asked 500 IOPS, saw 500 IOPS (+0.0 %); too short: in 200 ms up to 101 % more than the limit can come through; 4 s would tell"},
		{"in five seconds slices are no excuse", in(trial(direct, "write", group(limit.WriteBPS, 10*mib), 56*mib), 5*time.Second), "limit NOT held: asked 10 MiB/s, saw 11.2 MiB/s (+12.0 %)"},
		{"more than two slices", trial(direct, "write", group(limit.WriteBPS, 10*mib), 13*mib), "limit NOT held: asked 10 MiB/s, saw 13 MiB/s (+30.0 %)"},
		{"passed", trial(direct, "write", group(limit.WriteBPS, 10*mib), 1600*mib), "limit NOT held: asked 10 MiB/s, saw 1.56 GiB/s (160 times)"},
		{"not reached", trial(direct, "write", group(limit.WriteBPS, 10*mib), 5*mib), "unproved: asked 10 MiB/s, saw 5 MiB/s (-50.0 %); something else was slower than the limit"},
		{"the farthest client", trial(direct, "write", group(limit.WriteBPS, 10*mib), 5*mib, 10*mib), "held: asked 10 MiB/s, saw 10 MiB/s (+0.0 %)"},
		{"the client farthest from its own limit", unlike, "limit NOT held: asked 1 MiB/s, saw 5 MiB/s (5 times)"},
		{"synced", trial(synced, "write", group(limit.WriteBPS, 10*mib), 10*mib), "held: asked 10 MiB/s, saw 10 MiB/s (+0.0 %)"},
		{"I/Os", trial(direct, "write", group(limit.WriteIOPS, 256), mib), "held: asked 256 IOPS, saw 256 IOPS (+0.0 %)"},
		{"the other direction", trial(direct, "write", group(limit.ReadBPS, mib), 100*mib), ""},
		{"buffered, at the device", trial(buffered, "write", group(limit.WriteBPS, 4*mib), 400*mib), "held: asked 4 MiB/s, saw 4 MiB/s at the device (+0.0 %)"},
		{"buffered, the sum of two", trial(buffered, "write", group(limit.WriteBPS, 4*mib), 400*mib, 400*mib), "unproved: asked 8 MiB/s, saw 4 MiB/s at the device (-50.0 %); something else was slower than the limit"},
		{"buffered, written back later", flushed, "held: asked 10 MiB/s, saw 10 MiB/s at the device (+0.0 %)"},
		{"buffered, escaped", leaked, "limit NOT held: asked 10 MiB/s, saw 200 MiB/s at the device (20 times)"},
		{"buffered, beside a neighbour", beside, "unproved: asked 10 MiB/s, saw 410 MiB/s at the device (41 times); others used the device too: between 10 MiB/s and 410 MiB/s of its I/O was under this limit"},
		{"buffered, a neighbour makes up for what lacks", lazy, "unproved: asked 10 MiB/s, saw 9.91 MiB/s at the device (-0.9 %); others used the device too: between 5 MiB/s and 9.91 MiB/s of its I/O was under this limit"},
		{"a log's bytes count once", log, "held: asked 10 MiB/s, saw 10 MiB/s (+0.0 %)"},
		{"no limit", unlimited, ""},
		{"failed", failed, ""},
	} {
		var got []string
		for _, r := range Of(x.trial) {
			got = append(got, r.String())
		}
		if text := strings.Join(got, "; "); text != x.want {
			t.Errorf("%s: %q, want %q", x.name, text, x.want)
		}
	}
}

func TestCPUs(t *testing.T) {
	for used, want := range map[time.Duration]judge.Verdict{250 * time.Millisecond: judge.Held, 100 * time.Millisecond: judge.Unproved, 900 * time.Millisecond: judge.NotHeld} {
		tr := trial(load.Job{RW: load.Read}, "read", []limit.Applied{{Key: limit.CPUs, Value: 0.25, By: limit.ByEngine}}, 1<<20)
		tr.Results[0].Usage.User = used
		if rows := Of(tr); len(rows) != 1 || rows[0].Verdict != want || rows[0].Key != limit.CPUs {
			t.Errorf("%v: %v, want %s", used, rows, want)
		}
	}
}
