package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// TestCeilingOf: a percentage is of the best record of a device. That is a run's, not what a short look saw, and the
// control's trials are the baseline's.
func TestCeilingOf(t *testing.T) {
	const mib = 1 << 20
	disk := device.Device{Name: "vdz", Major: 254, Identity: "serial 1"}
	type cell struct {
		run     string
		key     string
		control bool
		rates   []float64 // MiB a second, of each trial
		window  time.Duration
	}
	full := []cell{
		{run: oldRun, key: "write/host/dir", rates: []float64{100, 101, 102}, window: 400 * time.Millisecond},
		{run: oldRun, key: "write/host/dir/control", control: true, rates: []float64{120, 121, 122}, window: 400 * time.Millisecond},
	}
	quick := cell{run: newRun, key: "write/host/dir", rates: []float64{300, 310, 320}, window: 150 * time.Millisecond}
	slow := cell{run: badRun, key: "write/oci/bind", rates: []float64{80}, window: 5 * time.Second}
	for _, tt := range []struct {
		name  string
		cells []cell
		want  string
	}{
		{"a look alone", []cell{quick}, "310 MiB/s, the most that was measured: write/host/dir of run " + newRun + ", in I/Os of 1MiB, 3 trials in 450 ms"},
		{"a look and a run", append([]cell{quick}, full...), "111 MiB/s, the most that was measured: write/host/dir of run " + oldRun + ", in I/Os of 1MiB, 6 trials in 2.4 s; run " + newRun + " saw 310 MiB/s, but in 450 ms only"},
		{"a run and a look", append(append([]cell{}, full...), slow, quick), "111 MiB/s, the most that was measured: write/host/dir of run " + oldRun + ", in I/Os of 1MiB, 6 trials in 2.4 s; run " + newRun + " saw 310 MiB/s, but in 450 ms only"},
		{"the longest isn't the greatest", []cell{slow, full[0]}, "101 MiB/s, the most that was measured: write/host/dir of run " + oldRun + ", in I/Os of 1MiB, 3 trials in 1.2 s"},
	} {
		state := filepath.Join(t.TempDir(), "state")
		db := openState(t, state)
		order := 0
		for _, c := range tt.cells {
			mustDo(t, db.PutRun(record.Run{ID: c.run, Status: record.Done, Started: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)}))
			for block, rate := range c.rates {
				bytes := int64(rate * mib * c.window.Seconds())
				tr := record.Trial{
					Run: c.run, Key: c.key, Block: block, Order: order, Status: record.Done, Value: rate,
					Cell:    record.Cell{Workload: "write", Engine: strings.Split(c.key, "/")[1], Place: strings.Split(c.key, "/")[2], Clients: 1, Control: c.control},
					Spec:    workload.Spec{Name: "write", Kind: workload.Block, Job: load.Job{RW: load.Write, BS: mib, Direct: true}},
					Results: []workload.Result{{Elapsed: c.window, Classes: []load.Class{{Name: "write", Bytes: bytes, Ops: bytes / mib}}}},
					Truth:   []record.Truth{{Device: disk.Name}},
					Where:   []record.Where{{Device: &disk}},
				}
				order++
				mustDo(t, db.PutTrial(tr))
			}
		}
		m, err := (&app{stateDir: state}).measured(disk)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.of[1].String(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if got := m.limits().WriteBPS; float64(got) < m.of[1].rate-1 {
			t.Errorf("%s: the limit is %d of %f", tt.name, got, m.of[1].rate)
		}
	}
}
