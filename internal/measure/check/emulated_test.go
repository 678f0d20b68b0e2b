package check

import (
	"strings"
	"testing"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/workload"
)

// TestEmulated: a trial in a virtual machine with an emulated processor has a note that says so.
func TestEmulated(t *testing.T) {
	for runtime, want := range map[string]bool{
		"": false, "crun 1.8.1": false, "qemu 7.2.22, KVM": false, "qemu-tcg, TCG": false, "qemu 7.2.22, TCG": true,
	} {
		tr := &record.Trial{Status: record.Done, Results: []workload.Result{{}}}
		tr.Where = []record.Where{{Runtime: runtime, FSType: "9p"}}
		var got string
		for _, w := range Trial(tr, nil) {
			if w.Check == Emulated {
				got += w.Severity + ": " + w.Text
			}
		}
		if (got != "") != want || want && !strings.HasPrefix(got, record.Note+": The virtual machine's processor was emulated (qemu 7.2.22, TCG)") {
			t.Errorf("Trial() with runtime %q says %q, want it said: %v", runtime, got, want)
		}
	}
}
