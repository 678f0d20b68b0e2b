package show

import (
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/hold"
)

// TestConcerns: a limit in the root group is a target's where its data is on the device; without a target each is shown.
func TestConcerns(t *testing.T) {
	d := device.Number{Major: 7, Minor: 1}
	for _, row := range []struct {
		x    Answer
		want bool
	}{
		{Answer{Scope: &hold.Scope{}, Shown: make([]Shown, 1)}, false},
		{Answer{Scope: &hold.Scope{}, Shown: []Shown{{Places: map[device.Number][]string{{Major: 7, Minor: 2}: {"/a"}}}}}, false},
		{Answer{Scope: &hold.Scope{}, Shown: []Shown{{Places: map[device.Number][]string{d: {"volume data"}}}}}, true},
		{Answer{}, true},
	} {
		if got := row.x.concerns(d); got != row.want {
			t.Errorf("%+v concerns %s: %t, want %t", row.x, d, got, row.want)
		}
	}
}
