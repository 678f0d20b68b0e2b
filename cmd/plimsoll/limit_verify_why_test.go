package main

import (
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
)

// TestWholeMachineNamesRootOnce: what else is on the device of / is named, and / itself once.
func TestWholeMachineNamesRootOnce(t *testing.T) {
	for _, c := range []struct {
		others []string
		want   string
	}{
		{[]string{"/"}, "vda is the device of /: a limit"},
		{[]string{"/", "/srv"}, "vda is the device of / and of /srv: a limit"},
	} {
		if got := wholeMachine("vda", c.others); !strings.HasPrefix(got, c.want) {
			t.Errorf("wholeMachine(%q) = %q, want %q", c.others, got, c.want)
		}
	}
}

// TestLowest: a limit of a group above counts where it is lower than the group's own; one that is higher changes nothing.
func TestLowest(t *testing.T) {
	d := device.Number{Major: 7}
	above := func(n int64) []cgroup.State {
		return []cgroup.State{{Devices: map[device.Number]limit.Limits{d: {WriteBPS: n}}}, {Devices: map[device.Number]limit.Limits{d: {WriteBPS: 100}}}}
	}
	for n, want := range map[int64]int64{0: 8, 5: 5, 8: 8, 9: 8, 200: 8} {
		if got := lowest(limit.Limits{WriteBPS: 8}, above(n), d)[limit.WriteBPS]; got != want {
			t.Errorf("8 below %d: %d, want %d", n, got, want)
		}
	}
}
