package watch

import (
	"testing"

	"plimsoll/internal/host/cgroupio"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
)

// TestBeyond: a limit of the group above is one of the subject's, with all that the group did; it adds nothing to what the subject did. One
// that was not read before is unknown.
func TestBeyond(t *testing.T) {
	read := func(own, pod int64) *Reading {
		r := reading(web(), counts{vda: written(own)}, own)
		r.Above = []cgroup.State{{Group: "/pod", Version: 2, Devices: map[device.Number]limit.Limits{{Major: 254}: {WriteBPS: 10 * mib}}}}
		if pod > 0 {
			r.Beyond = map[string]map[device.Number]cgroupio.Counters{"/pod": {vda: written(pod)}}
		}
		return r
	}
	for _, x := range []struct {
		name   string
		before int64
		want   float64
		at     Standing
	}{
		{"at it, with others", 10, 10 * mib, At},
		{"not read before", 0, 0, Unknown},
	} {
		u := one(t, at(0, read(1, x.before)), at(10, read(21, 110)))
		if len(u.Rates) != 1 {
			t.Fatalf("%s: %+v", x.name, u.Rates)
		}
		r := u.Rates[0]
		want := r
		want.Group, want.Asked, want.Standing = "/pod", 10*mib, x.at
		if r != want {
			t.Errorf("%s: %+v, want %+v", x.name, r, want)
		}
		if x.want > 0 && (r.Seen == nil || *r.Seen != x.want) {
			t.Errorf("%s: %+v, want %.0f seen", x.name, r, x.want)
		}
		if u.Write == nil || u.Write.Bytes != 20*mib {
			t.Errorf("%s: the subject wrote %+v", x.name, u.Write)
		}
	}
}
