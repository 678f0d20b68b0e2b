package doctor

import (
	"testing"

	"plimsoll/internal/state/journal"
)

// TestLeftoversDamagedPayload: a record whose file is sound but not what it says about its thing is listed, and an error. It looked like
// any other.
func TestLeftoversDamagedPayload(t *testing.T) {
	state := t.TempDir()
	j := journal.In(state)
	for id, payload := range map[string]any{"a": map[string]string{"disk": "vda"}, "b": 5, "c": map[string]int{"disk": 1}, "d": nil} {
		if err := j.Keep(t.Context(), "disk-weights", id, payload); err != nil {
			t.Fatal(err)
		}
	}
	list, err := Leftovers(state, state)
	damaged, other := journal.Damaged(err)
	if len(list) != 4 || list[0].Name != "vda" {
		t.Errorf("Leftovers() = %+v, want four, vda first", list)
	}
	if other != nil {
		t.Error(other)
	}
	if len(damaged) != 2 || damaged[0].ID != "b" || damaged[1].ID != "c" {
		t.Errorf("Leftovers() has the damaged records %v, want b and c", damaged)
	}
}
