package loads

import (
	"bytes"
	"slices"
	"testing"
)

// TestDuties: the work is that of a large run, and its time is near the goal or below it. Far above, something has
// become slow by its nature and not by the machine.
func TestDuties(t *testing.T) {
	var talk bytes.Buffer
	all, err := duties(t.Context(), 3, &talk)
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	if took, size, err := measureJSONPlus(t.Context(), &talk); err != nil || size < 5e5 {
		t.Errorf("%d bytes in %v, %v: no full histograms", size, took, err)
	}
	for _, d := range all {
		if best := slices.Min(d.Ours); len(d.Ours) != 3 || best <= 0 || best > 20*d.Goal.Value {
			t.Errorf("%s took %v, the goal is %v", d.Name, d.Ours, d.Goal.Value)
		}
		t.Logf("%s: %v", d.Name, d.Ours)
	}
}
