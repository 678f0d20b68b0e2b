package hold

import (
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
)

// TestLieSetAndRestored: the daemon has restored a limit before what was set is noted. The value then is not the command's.
func TestLieSetAndRestored(t *testing.T) {
	d := device.Number{Major: 7}
	change := limit.Change{Set: limit.Limits{WriteBPS: 20 << 20}}
	for has, want := range map[int64]int{20 << 20: 1, 10 << 20: 0} {
		if got := noted(nil, Setting{Group: "/web", Device: &d}, &d, limit.Limits{WriteBPS: has}, change); len(got) != want {
			t.Errorf("with %d in the kernel: %+v, want %d", has, got, want)
		}
	}
}
