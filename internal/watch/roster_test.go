package watch

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
)

// TestSeparate: two volumes on one device have none of their own.
func TestSeparate(t *testing.T) {
	got := separate(map[string]*Volume{
		"c": {Ref: "c", Devices: []device.Number{sdb}, Own: true, Users: []string{"y", "x"}},
		"a": {Ref: "a", Devices: []device.Number{loop0}, Own: true},
		"b": {Ref: "b", Devices: []device.Number{loop0, loop1}, Own: true},
	})
	var words []string
	for _, v := range got {
		words = append(words, fmt.Sprintf("%s %t %s %v", v.Ref, v.Own, v.Why, v.Users))
	}
	want := "a false b is on its device too, and the kernel counts by device []\nb false a is on its device too, and the kernel counts by device []\nc true  [x y]"
	if s := strings.Join(words, "\n"); s != want {
		t.Errorf("separate() =\n%s\nwant\n%s", s, want)
	}
}

// TestBuffered: where it isn't known on what the data lies, the machine decides.
func TestBuffered(t *testing.T) {
	for _, tt := range []struct {
		host explain.Host
		want explain.Verdict
	}{
		{explain.Host{IO: 1, Memory: 1}, explain.Leaks}, {explain.Host{IO: 2, Memory: 1}, explain.Leaks},
		{explain.Host{IO: 2, Memory: 2}, explain.Late}, {explain.Host{IO: 1, Memory: 1, ChargesV1: true}, explain.Late},
	} {
		if got := Buffered(&tt.host); got != tt.want {
			t.Errorf("Buffered(%+v) = %s, want %s", tt.host, got, tt.want)
		}
	}
}

// TestPlaceOf: limits go on the devices, and of a place that can't be limited the reason is kept.
func TestPlaceOf(t *testing.T) {
	p := PlaceOf(hold.Place{Name: "/srv", Explanation: &explain.Explanation{
		Hard:  []explain.Spot{{Number: device.Number{Major: 7}}, {Number: device.Number{Major: 8, Minor: 16}}},
		Modes: []explain.Mode{{Name: explain.Direct, Group: explain.Covered}, {Name: explain.Buffered, Group: explain.Leaks}},
	}})
	if d := cmp.Diff(Place{Name: "/srv", Devices: []device.Number{{Major: 7}, sdb}, Buffered: explain.Leaks}, p); d != "" {
		t.Errorf("PlaceOf(): %s", d)
	}
	s := &Subject{Places: []Place{p, {Name: "ro", Devices: []device.Number{sdb}, Buffered: explain.Never}, {Name: "late", Devices: []device.Number{vda}, Buffered: explain.Late}}, Buffered: explain.Leaks}
	for n, want := range map[device.Number]explain.Verdict{sdb: explain.Leaks, vda: explain.Late, {Major: 9, Minor: 9}: explain.Leaks} {
		if got := s.buffered(n); got != want {
			t.Errorf("buffered(%v) = %s, want %s", n, got, want)
		}
	}
	if !s.leaks() {
		t.Error("leaks() = false")
	}
	if n := PlaceOf(hold.Place{Name: "/tmp", Explanation: &explain.Explanation{Why: "memory"}}); n.Why != "memory" || len(n.Devices) > 0 {
		t.Errorf("PlaceOf() = %+v", n)
	}
}

// TestTold: an event makes the roster ask the engines again, and a lost daemon is noted until it is back.
func TestTold(t *testing.T) {
	r := &Roster{lost: map[string]string{}, changed: true}
	if !r.stale() || r.stale() {
		t.Error("it is stale once")
	}
	r.told(target.Event{Type: target.Lost, Source: "Docker at x", Err: errors.New("connection reset")})
	if n := r.Notes(); len(n) != 1 || n[0] != "Docker at x may miss events: connection reset" || !r.stale() {
		t.Errorf("notes: %q", n)
	}
	r.told(target.Event{Type: target.Connected, Source: "Docker at x"})
	if n := r.Notes(); len(n) != 0 || !r.stale() {
		t.Errorf("notes: %q", n)
	}
	r.Ended()
	if !r.stale() {
		t.Error("a subject that ended has the engines asked again")
	}
}
