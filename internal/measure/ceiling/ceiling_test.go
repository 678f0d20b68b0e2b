package ceiling

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/measure/check"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const (
	oldRun = "20261121-153000-3f9a"
	newRun = "20261122-090000-aaaa"
	badRun = "20261123-090000-bbbb"
)

// TestCeilingOf: a percentage is of the best record of a device. That is a run's, not what a short look saw, and the
// control's trials are the baseline's.
func TestCeilingOf(t *testing.T) {
	const mib = 1 << 20
	disk := device.Device{Name: "vdz", Number: device.Number{Major: 254}, Identity: "serial 1"}
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
		state := t.TempDir()
		db, err := store.Open(filepath.Join(state, "plimsoll.db"))
		mustDo(t, err)
		t.Cleanup(func() { db.Close() })
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
		m, err := Of(state, disk)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.greatest[1].String(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if got := m.Limits().WriteBPS; float64(got) < m.greatest[1].rate-1 {
			t.Errorf("%s: the limit is %d of %f", tt.name, got, m.greatest[1].rate)
		}
	}
}

// TestCeilingCounts: a record counts for the device that it was measured on, whatever that is called now, unless its figure is in doubt.
func TestCeilingCounts(t *testing.T) {
	disk := device.Device{Name: "loop7", Identity: "file /disk inode 7"}
	trial := record.Trial{
		Run: newRun, Key: "write/host/dir", Status: record.Done, Cell: record.Cell{Workload: "write", Engine: "host", Place: "dir", Clients: 1},
		Spec:    workload.Spec{Name: "write", Kind: workload.Block, Job: load.Job{RW: load.Write, BS: 4096, Direct: true}},
		Results: []workload.Result{{Elapsed: time.Second, Classes: []load.Class{{Name: "write", Bytes: 4096000, Ops: 1000}}}},
		Truth:   []record.Truth{{Device: disk.Name}}, Where: []record.Where{{Device: &disk}},
	}
	state := t.TempDir()
	db, err := store.Open(filepath.Join(state, "plimsoll.db"))
	mustDo(t, err)
	t.Cleanup(func() { db.Close() })
	mustDo(t, db.PutRun(record.Run{ID: newRun, Status: record.Done}))
	mustDo(t, db.PutTrial(trial))
	for _, tt := range []struct {
		name, reason string
		d            device.Device
		want         int64
	}{
		{"the same", "", disk, 1000},
		{"another name", "", device.Device{Name: "loop999", Identity: disk.Identity}, 1000},
		{"another disk of the name", "another device that was called loop7", device.Device{Name: disk.Name, Identity: "file /another inode 1"}, 0},
		{"an unknown disk", "no serial number", device.Device{Name: disk.Name}, 0},
	} {
		m, err := Of(state, tt.d)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got := m.Limits().WriteIOPS; got != tt.want {
			t.Errorf("%s: write_iops %v, want %v", tt.name, got, tt.want)
		}
		if got := m.Reasons(); !strings.Contains(got, tt.reason) || tt.reason == "" && got != "" {
			t.Errorf("%s: reasons %q, want %q", tt.name, got, tt.reason)
		}
	}
	if m, err := Of(t.TempDir(), disk); err != nil || !m.Limits().IsZero() {
		t.Errorf("without records: %+v, %v", m, err)
	}
}

// TestCeilingDoubts: a refusal says which checks doubt the trials, and what helps.
func TestCeilingDoubts(t *testing.T) {
	on := device.Device{Name: "loop3", Identity: "file /a"}
	doubt := func(checks ...string) (trial record.Trial) {
		for _, c := range checks {
			trial.Warnings = append(trial.Warnings, record.Warning{Check: c, Severity: record.Doubt}, record.Warning{Check: c, Severity: record.Doubt})
		}
		trial.Warnings = append(trial.Warnings, record.Warning{Check: check.Direct, Severity: record.Note}, record.Warning{Check: check.Drift, Severity: record.Doubt})
		return trial
	}
	m := Measured{name: on.Name}
	for _, trial := range []record.Trial{doubt(check.Window), doubt(check.Cache), doubt(check.Window, check.Cache), doubt(check.Cache)} {
		if m.Counts(trial, on, on) {
			t.Errorf("%+v counts", trial.Warnings)
		}
	}
	want := ": 4 trials on it are in doubt (3 by the check cache: memory answered, not the device: losetup --direct-io=on /dev/loop3; " +
		"2 by the check window: too little was measured; take a longer runtime)"
	if got := m.Reasons(); got != want {
		t.Errorf("reasons %q, want %q", got, want)
	}
	for c := range notDevice {
		if !slices.Contains(check.IDs, c) {
			t.Errorf("%s is no check", c)
		}
	}
}
