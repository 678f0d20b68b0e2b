package verify

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/host/cgroupio"
	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
)

// TestOtherGroupRates: a group's rate is that of the measured time. A group into which a process came later may have done all of its I/O
// before, so its rate is unknown: it was all that it ever did, over the measured time.
func TestOtherGroupRates(t *testing.T) {
	at := time.Now()
	seen := func(path string, from time.Duration, before, after int64) *groupSeen {
		did := func(n int64) cgroupio.Counters { return cgroupio.Counters{WriteBytes: n, Writes: n >> 20} }
		g := hold.Stray{Group: &hierarchy.Group{Controller: hierarchy.IO, Version: 1, Path: path}, Processes: 1}
		return &groupSeen{Stray: g, since: at.Add(from), until: at.Add(10 * time.Second), before: did(before), after: did(after), known: true, sure: true}
	}
	v := subject{spot: explain.Spot{Name: "vda", Number: device.Number{Major: 254}}, asked: map[limit.Key]int64{limit.WriteBPS: 8 << 20}, Words: Words{Again: "web"}}
	entering := seen("/entering", 0, 0, 1<<40)
	entering.sure = false
	rows := (&groupWatch{v: v, seen: []*groupSeen{seen("/late", 10*time.Second, 900<<30, 900<<30), seen("/old", 0, 100<<20, 300<<20), entering}}).rows()
	if len(rows) != 2 {
		t.Fatalf("%+v, want two rows", rows)
	}
	if rows[0].Seen != 20<<20 || !strings.Contains(rows[0].Why, "did 20 MiB/s meanwhile") {
		t.Errorf("%+v", rows[0])
	}
	if rows[1].Seen != -1 {
		t.Errorf("seen %v of /late, want nothing", rows[1].Seen)
	}
	if why := rows[1].Why; strings.Contains(why, "meanwhile") || !strings.Contains(why, "/late, which has no write_bps") {
		t.Errorf("the reason of /late is %q", why)
	}
}
