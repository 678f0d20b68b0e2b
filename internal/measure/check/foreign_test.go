package check

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// TestForeignLimit: a limit that the cell doesn't have is a doubt where it may be what was measured, and nothing where it can't be.
func TestForeignLimit(t *testing.T) {
	const mib = 1 << 20
	own := limit.Applied{Key: limit.WriteBPS, Value: 20 * mib, Device: "loop0", Number: "7:0", By: limit.ByGroup, Group: "/unit", File: "io.max"}
	with := func(f func(*limit.Applied)) limit.Applied { l := own; f(&l); return l }
	root := with(func(l *limit.Applied) { l.By, l.Group = limit.ByDevice, "/" })
	for _, x := range []struct {
		name    string
		foreign limit.Applied
		rw      string
		direct  bool
		app     int64 // of two seconds
		device  int64
		held    float64
		want    string
	}{
		{"at it", own, load.Write, true, 40 * mib, 40 * mib, 0, "a limit that this cell doesn't have was in force, write_bps=20MiB on loop0 (7:0) in /unit."},
		{"shared with others, who did the most", own, load.Write, true, 10 * mib, 30 * mib, 0, "in /unit"},
		{"far below it", own, load.Write, true, 10 * mib, 10 * mib, 0, ""},
		{"in the other direction", own, load.Read, true, 40 * mib, 40 * mib, 0, ""},
		{"I/Os", with(func(l *limit.Applied) { l.Key, l.Value = limit.WriteIOPS, 320 }), load.Write, true, 40 * mib, 40 * mib, 0, "write_iops=320"},
		{"many more I/Os", with(func(l *limit.Applied) { l.Key, l.Value = limit.WriteIOPS, 1e6 }), load.Write, true, 40 * mib, 40 * mib, 0, ""},
		{"on a device whose counters aren't known", with(func(l *limit.Applied) { l.Device = "vda" }), load.Write, true, 2 * mib, 2 * mib, 0, "on vda"},
		{"the cell's own is less", own, load.Write, true, 40 * mib, 40 * mib, 10 * mib, ""},
		{"the cell's own is more", own, load.Write, true, 40 * mib, 40 * mib, 100 * mib, "in /unit"},
		{"the root group's, direct", root, load.Write, true, 40 * mib, 40 * mib, 0, ""},
		{"the root group's, by the page cache", root, load.Write, false, 4000 * mib, 40 * mib, 0, "loop0 (7:0) in /."},
		{"the root group's, beneath", with(func(l *limit.Applied) { l.By, l.Device = limit.ByDevice, "vda" }), load.Write, true, 40 * mib, 40 * mib, 0, "on vda"},
	} {
		res := workload.Result{
			Elapsed: 2 * time.Second, WallElapsed: 2 * time.Second, Classes: []load.Class{{Name: x.rw, Ops: x.app >> 16, Bytes: x.app}},
			File: workload.FileState{DirectOpen: x.direct}, Disks: []workload.DiskDelta{{Name: "loop0", Major: 7, WrittenBytes: x.device, ReadBytes: x.device, Writes: x.device >> 16}},
		}
		tr := &record.Trial{
			Status: record.Done, Spec: workload.Spec{Kind: workload.Block, Job: load.Job{RW: x.rw, BS: 64 << 10, Direct: x.direct}}, Results: []workload.Result{res},
			Where: []record.Where{{Device: &record.Device{Name: "loop0", Major: 7}, Foreign: []limit.Applied{x.foreign}}},
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
		case x.want == "" && len(got) > 0:
			t.Errorf("%s: %q", x.name, got[0].Text)
		case x.want == "":
		case len(got) != 1 || got[0].Severity != record.Doubt || !strings.Contains(got[0].Text, x.want):
			t.Errorf("%s: %+v, want a doubt with %q", x.name, got, x.want)
		case !strings.Contains(string(got[0].Evidence), `"file":"io.max"`) || !strings.Contains(string(got[0].Evidence), `"value":`):
			t.Errorf("%s: the evidence is %s", x.name, got[0].Evidence)
		}
	}
}

// TestForeignAround: CPUs and memory that groups around the worker hold back are doubts where they may be what was measured.
func TestForeignAround(t *testing.T) {
	const mib = 1 << 20
	cpus := limit.Applied{Key: limit.CPUs, Value: 1, By: limit.ByGroup, Group: "/pod", File: "cpuset.cpus"}
	memory := limit.Applied{Key: limit.Memory, Value: 64 * mib, By: limit.ByGroup, Group: "/pod"}
	for _, x := range []struct {
		name    string
		foreign limit.Applied
		used    time.Duration // of two seconds
		waited  float64
		want    string
	}{
		{"half of its CPU", cpus, time.Second, 0, "cpus=1 in /pod"},
		{"less", cpus, 999 * time.Millisecond, 0, ""},
		{"memory that was waited for", memory, 0, 0.06, "memory=64MiB in /pod"},
		{"memory that nobody waited for", memory, 0, 0.05, ""},
		{"memory, and the kernel doesn't say", memory, 0, -1, ""},
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
		if (got != "") != (x.want != "") || !strings.Contains(got, x.want) {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
}

// TestForeignModels: iocost and the room that a limit on memory leaves unwritten data are doubts where they may be what was measured.
func TestForeignModels(t *testing.T) {
	const mib = 1 << 20
	cost := func(share float64) func(*record.Trial) {
		return func(t *record.Trial) {
			t.Where[0].Costs = []record.Cost{{Device: "loop0", Number: "7:0", Group: "/pod", Share: share}}
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
	for _, x := range []struct {
		name string
		set  func(*record.Trial)
		want string
	}{
		{"half of what the model lets through", cost(0.5), "iocost on loop0 (7:0), whose model says that the group /pod used 50 % of the device's time"},
		{"more than the model's own rounding", cost(1.02), "100 %"},
		{"less than half", cost(0.49), ""},
		{"more than may be unwritten", dirty(96*mib, 0.2, buffered), "memory=320MiB in /pod, by which no more than 48.0 MiB may be unwritten data"},
		{"less than may be unwritten", dirty(48*mib, 0.2, buffered), ""},
		{"nothing waited", dirty(96*mib, 0.01, buffered), ""},
		{"synced", dirty(96*mib, 0.2, synced), ""},
		{"the cell's own limit", func(t *record.Trial) {
			dirty(96*mib, 0.2, buffered)(t)
			t.Where[0].Held = &limit.Held{Applied: []limit.Applied{{Key: limit.Memory, Value: 320 * mib}}}
		}, ""},
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
		if (got != "") != (x.want != "") || !strings.Contains(got, x.want) {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
}
