package check

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/golden"
	"plimsoll/load"
)

// TestLimits: a rate above its limit is a doubt with the reason, one at it a note, and a limit that can't hold what the job does is said
// though the window did not show it.
func TestLimits(t *testing.T) {
	const mib = 1 << 20
	leaks := []limit.Escape{{Mode: "buffered", Holds: "leaks", Why: "the kernel's flusher writes the data out"}}
	closed := []limit.Escape{{Mode: "buffered", Holds: "leaks", Closed: true}}
	make := func(direct bool, app, disk int64, escapes []limit.Escape) *record.Trial {
		tr := &record.Trial{
			Status: record.Done, Spec: workload.Spec{Kind: workload.Block, Job: load.Job{RW: load.Write, BS: 64 << 10, Direct: direct}},
			Results: []workload.Result{{
				Elapsed: 2 * time.Second, WallElapsed: 2 * time.Second, Classes: []load.Class{{Name: "write", Ops: app >> 16, Bytes: app}},
				File:  workload.FileState{DirectOpen: direct},
				Disks: []workload.DiskDelta{{Name: "loop0", Number: device.Number{Major: 7}, WrittenBytes: disk}},
			}},
			Where: []record.Where{{Limits: "write_bps=10MiB", Device: &record.Device{Name: "loop0", Number: device.Number{Major: 7}},
				Held: &limit.Held{Applied: []limit.Applied{{Key: limit.WriteBPS, Value: 10 * mib, By: limit.ByGroup}}, Escapes: escapes}}},
		}
		tr.Truth = []record.Truth{Truth(&tr.Results[0], tr.Where[0].Device, "", -1, -1)}
		return tr
	}
	var sheet golden.Sheet
	for _, x := range []struct {
		name            string
		trial           *record.Trial
		check, severity string
	}{
		{"held", make(true, 20*mib, 20*mib, leaks), Limited, record.Note},
		{"passed", make(true, 200*mib, 200*mib, nil), Limit, record.Doubt},
		{"escaped", make(false, 2000*mib, 800*mib, leaks), Limit, record.Doubt},
		{"would escape", make(false, 2000*mib, 0, leaks), Limit, record.Doubt},
		{"closed", make(false, 2000*mib, 20*mib, closed), Limited, record.Note},
	} {
		var got []string
		for _, w := range Trial(x.trial, nil) {
			if w.Check != Limit && w.Check != Limited {
				continue
			}
			got = append(got, w.Check+"/"+w.Severity+" "+w.Text)
		}
		if len(got) != 1 || !strings.HasPrefix(got[0], x.check+"/"+x.severity) {
			t.Errorf("%s: %q, want %s/%s", x.name, got, x.check, x.severity)
		}
		sheet.Add(x.name, strings.Join(got, "\n"))
	}
	sheet.Check(t, "TestLimits.txt")
}
