package check

import (
	"testing"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/golden"
	"plimsoll/load"
)

// TestForeignLimit: a limit that the cell doesn't have is a doubt where it may be what was measured, and nothing where it can't be.
func TestForeignLimit(t *testing.T) {
	const mib = 1 << 20
	own := limit.Applied{Key: limit.WriteBPS, Value: 20 * mib, Device: "loop0", Number: device.Number{Major: 7}, By: limit.ByGroup, Group: "/unit", File: "io.max"}
	with := func(f func(*limit.Applied)) limit.Applied { l := own; f(&l); return l }
	root := with(func(l *limit.Applied) { l.By, l.Group = limit.ByDevice, "/" })
	var sheet golden.Sheet
	for _, x := range []struct {
		name    string
		foreign limit.Applied
		rw      string
		direct  bool
		app     int64 // of two seconds
		device  int64
		held    float64
		want    bool
	}{
		{"at it", own, load.Write, true, 40 * mib, 40 * mib, 0, true},
		{"shared with others, who did the most", own, load.Write, true, 10 * mib, 30 * mib, 0, true},
		{"far below it", own, load.Write, true, 10 * mib, 10 * mib, 0, false},
		{"in the other direction", own, load.Read, true, 40 * mib, 40 * mib, 0, false},
		{"I/Os", with(func(l *limit.Applied) { l.Key, l.Value = limit.WriteIOPS, 320 }), load.Write, true, 40 * mib, 40 * mib, 0, true},
		{"many more I/Os", with(func(l *limit.Applied) { l.Key, l.Value = limit.WriteIOPS, 1e6 }), load.Write, true, 40 * mib, 40 * mib, 0, false},
		{"on a device whose counters aren't known", with(func(l *limit.Applied) { l.Device = "vda" }), load.Write, true, 2 * mib, 2 * mib, 0, true},
		{"the cell's own is less", own, load.Write, true, 40 * mib, 40 * mib, 10 * mib, false},
		{"the cell's own is more", own, load.Write, true, 40 * mib, 40 * mib, 100 * mib, true},
		{"the root group's, direct", root, load.Write, true, 40 * mib, 40 * mib, 0, false},
		{"the root group's, by the page cache", root, load.Write, false, 4000 * mib, 40 * mib, 0, true},
		{"the root group's, beneath", with(func(l *limit.Applied) { l.By, l.Device = limit.ByDevice, "vda" }), load.Write, true, 40 * mib, 40 * mib, 0, true},
	} {
		res := workload.Result{
			Elapsed: 2 * time.Second, WallElapsed: 2 * time.Second, Classes: []load.Class{{Name: x.rw, Ops: x.app >> 16, Bytes: x.app}},
			File: workload.FileState{DirectOpen: x.direct}, Disks: []workload.DiskDelta{{Name: "loop0", Number: device.Number{Major: 7}, WrittenBytes: x.device, ReadBytes: x.device, Writes: x.device >> 16}},
		}
		tr := &record.Trial{
			Status: record.Done, Spec: workload.Spec{Kind: workload.Block, Job: load.Job{RW: x.rw, BS: 64 << 10, Direct: x.direct}}, Results: []workload.Result{res},
			Where: []record.Where{{Device: &record.Device{Name: "loop0", Number: device.Number{Major: 7}}, Foreign: []limit.Applied{x.foreign}}},
		}
		if x.held > 0 {
			tr.Where[0].Held = &limit.Held{Applied: []limit.Applied{{Key: limit.WriteBPS, Value: x.held, By: limit.ByGroup}}}
		}
		tr.Truth = []record.Truth{Truth(&tr.Results[0], tr.Where[0].Device, "", -1, -1)}
		var got []record.Warning
		for _, w := range Trial(tr, nil) {
			if w.Check == Foreign {
				got = append(got, w)
			}
		}
		switch {
		case !x.want && len(got) > 0:
			t.Errorf("%s: %q", x.name, got[0].Text)
		case !x.want:
		case len(got) != 1 || got[0].Severity != record.Doubt:
			t.Errorf("%s: %+v, want a doubt", x.name, got)
		default:
			sheet.Add(x.name, got[0].Text+"\n"+string(got[0].Evidence))
		}
	}
	sheet.Check(t, "TestForeignLimit.txt")
}

// TestForeignAround: CPUs and memory that groups around the worker hold back are doubts where they may be what was measured.
func TestForeignAround(t *testing.T) {
	const mib = 1 << 20
	cpus := limit.Applied{Key: limit.CPUs, Value: 1, By: limit.ByGroup, Group: "/pod", File: "cpuset.cpus"}
	memory := limit.Applied{Key: limit.Memory, Value: 64 * mib, By: limit.ByGroup, Group: "/pod"}
	var sheet golden.Sheet
	for _, x := range []struct {
		name    string
		foreign limit.Applied
		used    time.Duration // of two seconds
		waited  float64
		want    bool
	}{
		{"half of its CPU", cpus, time.Second, 0, true},
		{"less", cpus, 999 * time.Millisecond, 0, false},
		{"memory that was waited for", memory, 0, 0.06, true},
		{"memory that nobody waited for", memory, 0, 0.05, false},
		{"memory, and the kernel doesn't say", memory, 0, -1, false},
	} {
		tr := &record.Trial{
			Status: record.Done, Spec: workload.Spec{Kind: workload.Append}, Where: []record.Where{{Foreign: []limit.Applied{x.foreign}}},
			Results: []workload.Result{{Elapsed: 2 * time.Second, WallElapsed: 2 * time.Second, Classes: []load.Class{{Name: "append", Ops: 5000, Bytes: mib}}, Usage: load.Usage{User: x.used}, Host: workload.HostDelta{MemorySome: x.waited}}},
			Truth:   []record.Truth{{}},
		}
		var got string
		for _, w := range Trial(tr, nil) {
			if w.Check == Foreign {
				got += w.Text
			}
		}
		if (got != "") != x.want {
			t.Errorf("%s: %q, want a doubt: %v", x.name, got, x.want)
		}
		if got != "" {
			sheet.Add(x.name, got)
		}
	}
	sheet.Check(t, "TestForeignAround.txt")
}

// TestForeignModels: iocost and the room that a limit on memory leaves unwritten data are doubts where they may be what was measured.
func TestForeignModels(t *testing.T) {
	const mib = 1 << 20
	cost := func(share float64) func(*record.Trial) {
		return func(t *record.Trial) {
			t.Where[0].Costs = []record.Cost{{Device: "loop0", Number: device.Number{Major: 7}, Group: "/pod", Share: share}}
		}
	}
	dirty := func(written int64, waited float64, job load.Job) func(*record.Trial) {
		return func(t *record.Trial) {
			t.Spec = workload.Spec{Kind: workload.Block, Job: job}
			t.Where[0].Dirty = &record.Dirty{Room: 48 * mib, Limit: 320 * mib, Group: "/pod"}
			t.Results[0].Classes[0].Bytes, t.Results[0].Host.IOSome = written, waited
			t.Truth[0].AppWritten = written
		}
	}
	buffered := load.Job{RW: load.Write, BS: mib}
	synced := buffered
	synced.Fsync = 1
	var sheet golden.Sheet
	for _, x := range []struct {
		name string
		set  func(*record.Trial)
		want bool
	}{
		{"half of what the model lets through", cost(0.5), true},
		{"more than the model's own rounding", cost(1.02), true},
		{"less than half", cost(0.49), false},
		{"more than may be unwritten", dirty(96*mib, 0.2, buffered), true},
		{"less than may be unwritten", dirty(48*mib, 0.2, buffered), false},
		{"nothing waited", dirty(96*mib, 0.01, buffered), false},
		{"synced", dirty(96*mib, 0.2, synced), false},
		{"the cell's own limit", func(t *record.Trial) {
			dirty(96*mib, 0.2, buffered)(t)
			t.Where[0].Held = &limit.Held{Applied: []limit.Applied{{Key: limit.Memory, Value: 320 * mib}}}
		}, false},
	} {
		tr := &record.Trial{
			Status: record.Done, Spec: workload.Spec{Kind: workload.Append}, Where: []record.Where{{}}, Truth: []record.Truth{{}},
			Results: []workload.Result{{Elapsed: 2 * time.Second, WallElapsed: 2 * time.Second, Classes: []load.Class{{Name: "write", Ops: 5000, Bytes: mib}}}},
		}
		x.set(tr)
		var got string
		for _, w := range Trial(tr, nil) {
			if w.Check == Foreign {
				got += w.Text
			}
		}
		if (got != "") != x.want {
			t.Errorf("%s: %q, want a doubt: %v", x.name, got, x.want)
		}
		if got != "" {
			sheet.Add(x.name, got)
		}
	}
	sheet.Check(t, "TestForeignModels.txt")
}
