package line

import (
	"errors"
	"testing"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// TestLineOutcome: a line of another tool ends with status 4 if one of its trials passed a limit, and only then.
func TestLineOutcome(t *testing.T) {
	const mib = 1 << 20
	trial := func(rate int64) *record.Trial {
		const seconds = 10
		n := rate * seconds
		return &record.Trial{
			Status: record.Done, Spec: workload.Spec{Kind: workload.Block, Job: load.Job{RW: load.Write, Direct: true, BS: 4096}},
			Results: []workload.Result{{
				Elapsed: seconds * time.Second, Classes: []load.Class{{Name: "write", Ops: n / 4096, Bytes: n}}, File: workload.FileState{DirectOpen: true},
				Disks: []workload.DiskDelta{{Number: device.Number{Major: 7}, Writes: n / 4096, WrittenBytes: n}},
			}},
			Where: []record.Where{{Device: &record.Device{Name: "loop0", Number: device.Number{Major: 7}},
				Held: &limit.Held{Applied: []limit.Applied{{Key: limit.WriteBPS, Value: 10 * mib, Device: "loop0", Number: device.Number{Major: 7}, By: limit.ByGroup}}}}},
		}
	}
	for _, row := range []struct {
		rates []int64
		want  string // "": status 0
	}{
		{[]int64{10 * mib}, ""},
		{[]int64{5 * mib}, ""}, // Unproved changes no status.
		{[]int64{40 * mib}, "dd: 1 limit NOT held"},
		{[]int64{10 * mib, 40 * mib, 40 * mib}, "dd: 2 limits NOT held"},
	} {
		s := &session{}
		for _, r := range row.rates {
			s.note(trial(r))
		}
		err := s.outcome("dd")
		var not *NotHeldError
		switch {
		case row.want == "":
			if err != nil {
				t.Errorf("%v: %v", row.rates, err)
			}
		case !errors.As(err, &not) || not.ExitStatus() != 4 || err.Error() != row.want:
			t.Errorf("%v: %v, want %q", row.rates, err, row.want)
		}
	}
}
