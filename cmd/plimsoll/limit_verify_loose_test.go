package main

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/device/cgroupio"
	"plimsoll/internal/device/hierarchy"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
)

// TestLooseRates: a group's rate is that of the measured time. A group into which a process came later may have done all of its I/O
// before, so its rate is unknown: it was all that it ever did, over the measured time.
func TestLooseRates(t *testing.T) {
	at := time.Now()
	group := func(path string) hold.Loose {
		return hold.Loose{Group: &hierarchy.Group{Controller: hierarchy.IO, Version: 1, Path: path}, Processes: 1}
	}
	did := func(n int64) cgroupio.Counters { return cgroupio.Counters{WriteBytes: n, Writes: n >> 20} }
	v := verification{spot: explain.Spot{Name: "vda", Major: 254}, asked: map[limit.Key]int64{limit.WriteBPS: 8 << 20}, again: "web"}
	rows := v.looseRows(
		looseLook{at: at, groups: []hold.Loose{group("/old")}, did: map[string]cgroupio.Counters{"/old": did(100 << 20)}},
		looseLook{at: at.Add(10 * time.Second), groups: []hold.Loose{group("/old"), group("/late")}, did: map[string]cgroupio.Counters{"/old": did(300 << 20), "/late": did(900 << 30)}})
	if len(rows) != 2 || rows[0].Seen != 20<<20 || !strings.Contains(rows[0].Why, "did 20 MiB/s meanwhile") {
		t.Errorf("%+v", rows)
	}
	if len(rows) == 2 && (rows[1].Seen != -1 || strings.Contains(rows[1].Why, "meanwhile") || !strings.Contains(rows[1].Why, "/late, which has no write_bps")) {
		t.Errorf("%+v", rows[1])
	}
}
