package check

import (
	"encoding/json"
	"testing"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

func TestAmplification(t *testing.T) {
	testRows(t, []row{
		{"writes, at the limit", func(t *record.Trial) { named(t, workload.WAL, 40*mib, 60*mib) }, ""},
		{"writes, above", func(t *record.Trial) { named(t, workload.WAL, 40*mib, 60*mib+1) }, "amplification/note"},
		{"writes, small excess", func(t *record.Trial) { named(t, workload.WAL, 100*kib, 300*kib) }, ""},
		{"writes, as much as may be its own", func(t *record.Trial) { named(t, workload.WAL, mib, 10*mib) }, "amplification/note"},
		{"a neighbour writes", func(t *record.Trial) { named(t, workload.WAL, mib, 2460*mib) }, "amplification/note"},
		{"writes, the group's known", func(t *record.Trial) {
			named(t, workload.WAL, 10*mib, 60*mib)
			t.Truth[0].CgroupWritten = 12 * mib
		}, "amplification/note"},
		{"writes, all of them the group's", func(t *record.Trial) {
			named(t, workload.WAL, 10*mib, 60*mib)
			t.Truth[0].CgroupWritten = 60*mib - 100*kib
		}, "amplification/note"},
		{"a neighbour of the group writes more than may be its own", func(t *record.Trial) {
			named(t, workload.WAL, 10*mib, 400*mib)
			t.Truth[0].CgroupWritten = 12 * mib
		}, "amplification/note"},
		{"direct overwrites beside a neighbour", func(t *record.Trial) { writes(t, 80*mib, 200*mib) }, "neighbour/doubt"},
		{"small writes, charged by the page", func(t *record.Trial) {
			named(t, workload.WAL, mib, 40*mib)
			t.Truth[0].ProcWritten = 16 * mib
		}, "amplification/note"},
		{"reads charged to it, and others'", func(t *record.Trial) {
			buffered(t)
			reads(t, 20*mib, 80*mib, 85*mib)
		}, "amplification/note"},
		{"reads charged to it", func(t *record.Trial) { buffered(t); reads(t, 20*mib, 80*mib, 80*mib) }, "amplification/note"},
		{"reads of others", func(t *record.Trial) { reads(t, 20*mib, 20*mib, 80*mib) }, "neighbour/doubt"},
	})
}

// TestAmplificationEvidence: both ends of the factor are evidence where the group's bytes are known, and
// only the upper one where they are not.
func TestAmplificationEvidence(t *testing.T) {
	for group, want := range map[int64]float64{-1: 0, 12 * mib: 1.2} {
		tr := clean()
		named(tr, workload.WAL, 10*mib, 60*mib)
		tr.Truth[0].CgroupWritten = group
		var found *record.Warning
		for _, w := range Trial(tr, testRun()) {
			if w.Check == Amplification {
				found = &w
			}
		}
		if found == nil {
			t.Fatalf("group %d: no note", group)
		}
		var e struct {
			Factor float64 `json:"factor"`
			Least  float64 `json:"factor_least"`
		}
		if err := json.Unmarshal(found.Evidence, &e); err != nil {
			t.Fatal(err)
		}
		if e.Factor != 6 || e.Least != want {
			t.Errorf("group %d: factor %v, least %v; want 6 and %v", group, e.Factor, e.Least, want)
		}
	}
}
