package proof

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/record"
	"plimsoll/internal/workload"
	"plimsoll/load"
)

// trial is one of clients that write or read n bytes in I/Os of 4 KiB within a second, each under a limit.
func trial(job load.Job, class string, asked []limit.Applied, bytes ...int64) *record.Trial {
	job.BS = 4096
	t := &record.Trial{Status: record.Done, Spec: workload.Spec{Kind: workload.Block, Job: job}}
	for _, n := range bytes {
		t.Results = append(t.Results, workload.Result{
			Elapsed: time.Second, Classes: []load.Class{{Name: class, Ops: n / 4096, Bytes: n}}, File: workload.FileState{DirectOpen: job.Direct},
			Disks: []workload.DiskDelta{{Major: 7, Writes: 100, WrittenBytes: 4 << 20, Reads: 10, ReadBytes: 1 << 20}},
		})
		t.Where = append(t.Where, record.Where{Device: &record.Device{Name: "loop0", Major: 7}, Held: &limit.Held{Applied: asked}})
	}
	return t
}

func TestOf(t *testing.T) {
	const mib = 1 << 20
	group := func(k limit.Key, v float64) []limit.Applied {
		return []limit.Applied{{Key: k, Value: v, Device: "loop0", Number: "7:0", By: limit.ByGroup}}
	}
	direct, buffered := load.Job{RW: load.Write, Direct: true}, load.Job{RW: load.Write}
	flushed := trial(buffered, "write", group(limit.WriteBPS, 10*mib), 400*mib)
	flushed.Results[0].Settled, flushed.Results[0].Flushed = 9*time.Second, &workload.Flushed{Bytes: 96 * mib, Writes: 900}
	leaked := trial(buffered, "write", group(limit.WriteBPS, 10*mib), 400*mib)
	leaked.Results[0].Settled, leaked.Results[0].Flushed = time.Second, &workload.Flushed{Bytes: 396 * mib}
	// A neighbour writes 4000 MiB to the device meanwhile.
	beside := trial(buffered, "write", group(limit.WriteBPS, 10*mib), 100*mib)
	beside.Results[0].Settled, beside.Results[0].Flushed = 9*time.Second, &workload.Flushed{Bytes: 4096 * mib}
	failed := trial(direct, "write", group(limit.WriteBPS, 10*mib), 10*mib)
	failed.Status = record.Failed
	synced := buffered
	synced.FDataSync = 1
	for _, x := range []struct {
		name  string
		trial *record.Trial
		want  string
	}{
		{"reached", trial(direct, "write", group(limit.WriteBPS, 10*mib), 10*mib), "held: asked 10 MiB/s, saw 10 MiB/s (+0.0 %)"},
		{"the first slice", trial(direct, "write", group(limit.WriteBPS, 10*mib), 11*mib), "held: asked 10 MiB/s, saw 11 MiB/s (+10.0 %)"},
		{"and one that came late", trial(direct, "write", group(limit.WriteBPS, 10*mib), 12*mib), "held: asked 10 MiB/s, saw 12 MiB/s (+20.0 %)"},
		{"more than two slices", trial(direct, "write", group(limit.WriteBPS, 10*mib), 13*mib), "limit NOT held: asked 10 MiB/s, saw 13 MiB/s (+30.0 %)"},
		{"passed", trial(direct, "write", group(limit.WriteBPS, 10*mib), 1600*mib), "limit NOT held: asked 10 MiB/s, saw 1.56 GiB/s (160.0 times)"},
		{"not reached", trial(direct, "write", group(limit.WriteBPS, 10*mib), 5*mib), "unproved: asked 10 MiB/s, saw 5 MiB/s (-50.0 %)"},
		{"the farthest client", trial(direct, "write", group(limit.WriteBPS, 10*mib), 5*mib, 10*mib), "held: asked 10 MiB/s, saw 10 MiB/s (+0.0 %)"},
		{"synced", trial(synced, "write", group(limit.WriteBPS, 10*mib), 10*mib), "held: asked 10 MiB/s, saw 10 MiB/s (+0.0 %)"},
		{"I/Os", trial(direct, "write", group(limit.WriteIOPS, 256), mib), "held: asked 256 I/Os a second, saw 256 I/Os a second (+0.0 %)"},
		{"the other direction", trial(direct, "write", group(limit.ReadBPS, mib), 100*mib), ""},
		{"buffered, at the device", trial(buffered, "write", group(limit.WriteBPS, 4*mib), 400*mib), "held: asked 4 MiB/s, saw 4 MiB/s at the device (+0.0 %)"},
		{"buffered, the sum of two", trial(buffered, "write", group(limit.WriteBPS, 4*mib), 400*mib, 400*mib), "unproved: asked 8 MiB/s, saw 4 MiB/s at the device (-50.0 %)"},
		{"buffered, written back later", flushed, "held: asked 10 MiB/s, saw 10 MiB/s at the device (+0.0 %)"},
		{"buffered, escaped", leaked, "limit NOT held: asked 10 MiB/s, saw 200 MiB/s at the device (20.0 times)"},
		{"buffered, beside a neighbour", beside, "unproved: asked 10 MiB/s, saw 10 MiB/s at the device (+0.0 %)"},
		{"no limit", trial(direct, "write", nil, mib), ""},
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
	// Records of earlier versions don't say what was in force.
	old := trial(direct, "write", nil, mib)
	old.Where[0].Held = nil
	if rows := Of(old); len(rows) > 0 {
		t.Errorf("an old record: %v", rows)
	}
}

func TestCPUs(t *testing.T) {
	for used, want := range map[time.Duration]Verdict{250 * time.Millisecond: Held, 100 * time.Millisecond: Unproved, 900 * time.Millisecond: NotHeld} {
		tr := trial(load.Job{RW: load.Read}, "read", []limit.Applied{{Key: limit.CPUs, Value: 0.25, By: limit.ByEngine}}, 1<<20)
		tr.Results[0].Usage.User = used
		if rows := Of(tr); len(rows) != 1 || rows[0].Verdict != want || rows[0].Key != limit.CPUs {
			t.Errorf("%v: %v, want %s", used, rows, want)
		}
	}
}
