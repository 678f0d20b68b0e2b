package check

import (
	"encoding/json"
	"testing"

	"plimsoll/internal/record"
	"plimsoll/internal/workload"
)

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
