package watch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/host/cgroupio"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
)

// A tick is a second of a device in a test: MiB that were charged to the subject and to others, and that the device did.
type tick struct{ own, others, done int64 }

// ticks are the samples of a subject with a limit of 10 MiB/s on loop0, in version 1, as a Sampler makes them.
func ticks(list ...tick) []*Sample {
	var out []*Sample
	var own, all, done int64
	for i, k := range append([]tick{{}}, list...) {
		own, all, done = own+k.own, all+k.own+k.others, done+k.done
		r := reading(web(), counts{loop0: written(own)}, 0)
		r.Limits = []cgroup.State{{Group: "/web", Version: 1, Devices: map[device.Number]limit.Limits{{Major: 7}: {WriteBPS: 10 * mib}}}}
		s := at(i, r)
		for n := range s.Disks {
			if s.Disks[n].Number == loop0 {
				s.Disks[n].Write = Requests{IOs: uint64(done), Sectors: uint64(done * mib / 512)}
			}
		}
		s.All = map[device.Number]cgroupio.Counters{loop0: written(all)}
		if i > 0 {
			s.wait(out[i-1])
		}
		out = append(out, s)
	}
	return out
}

// TestWaiting: version 1 charges what an fsync submits at once, and the limit makes it wait. Watch said that a limit that held was
// passed four times, and then that nothing was done.
func TestWaiting(t *testing.T) {
	for _, tt := range []struct {
		name string
		list []tick
		want []string // MiB/s seen, MiB that wait, where it stands
	}{
		{"40 MiB are submitted at once", []tick{{40, 0, 10}, {0, 0, 10}, {0, 0, 10}, {0, 0, 10}, {0, 0, 0}},
			[]string{"10 30 at the limit", "10 20 at the limit", "10 10 at the limit", "10 0 at the limit", "0 0 below"}},
		{"again and again", []tick{{40, 0, 10}, {20, 0, 10}, {0, 0, 10}}, []string{"10 30 at the limit", "10 40 at the limit", "10 30 at the limit"}},
		{"and others write", []tick{{40, 100, 110}, {0, 100, 110}}, []string{"10 30 at the limit", "10 20 at the limit"}},
		{"others are in the way", []tick{{40, 100, 104}, {0, 0, 10}}, []string{"4 36 below", "10 26 at the limit"}},
		{"the limit doesn't hold", []tick{{40, 0, 40}, {50, 100, 150}}, []string{"40 0 ABOVE THE LIMIT", "50 0 ABOVE THE LIMIT"}},
		// The device does now what others had submitted: it can't be told from the subject's.
		{"others' comes later", []tick{{0, 40, 10}, {40, 0, 20}}, []string{"0 0 below", "20 20 at the limit"}},
	} {
		var got []string
		all := ticks(tt.list...)
		for i := 1; i < len(all); i++ {
			u := one(t, all[i-1], all[i])
			r := u.Rates[0]
			got = append(got, fmt.Sprintf("%g %d %s", *r.Seen/mib, r.Waiting/mib, r.Standing))
			if !u.Busy() && (*r.Seen > 0 || r.Waiting > 0) {
				t.Errorf("%s: second %d: it isn't busy", tt.name, i)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// TestSubmittedBefore: what was submitted before the first sample comes through uncharged. Watch said of who waited for it all the time
// that it is below its limit, at 0 %.
func TestSubmittedBefore(t *testing.T) {
	for _, tt := range []struct {
		name string
		list []tick
		full time.Duration // pressure, each second
		want []string
	}{
		{"at the limit", []tick{{0, 0, 10}, {0, 0, 7}, {0, 0, 0}}, 0, []string{"unknown", "unknown", "below"}},
		{"others' are charged", []tick{{0, 10, 10}, {0, 0, 0}}, 0, []string{"below", "below"}},
		{"a journal's block", []tick{{0, 0, 1}}, 0, []string{"below"}},
		{"it waits, and nothing comes", []tick{{0, 0, 0}, {0, 0, 10}}, time.Second, []string{"unknown", "unknown"}},
		{"it waits for what is slow", []tick{{3, 0, 3}}, time.Second, []string{"below"}},
		{"it goes on with more", []tick{{0, 0, 10}, {20, 0, 10}}, time.Second, []string{"unknown", "at the limit"}},
	} {
		all := ticks(tt.list...)
		var got []string
		for i, s := range all {
			s.Subjects["docker:web"].Pressure = &Pressure{Some: time.Duration(i) * tt.full, Full: time.Duration(i) * tt.full}
			if i == 0 {
				continue
			}
			r := one(t, all[i-1], s).Rates[0]
			got = append(got, string(r.Standing))
			if (r.Seen == nil) != (r.Standing == Unknown) {
				t.Errorf("%s: second %d: seen %v, and it is %s", tt.name, i, r.Seen, r.Standing)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// TestStuck: what a device never does is not waited for in all eternity.
func TestStuck(t *testing.T) {
	list := []tick{{40, 0, 10}}
	for range 70 {
		list = append(list, tick{})
	}
	all := ticks(list...)
	if w := all[30].Subjects["docker:web"].Waiting["/web"][loop0]; w.WriteBytes != 30*mib {
		t.Errorf("after half a minute %d bytes wait, want 30 MiB", w.WriteBytes)
	}
	if w := all[len(all)-1].Subjects["docker:web"].Waiting; w != nil {
		t.Errorf("after 70 s %+v waits", w)
	}
}

// TestBusy: a group that waits for I/O all the time is busy, and is listed before idle ones.
func TestBusy(t *testing.T) {
	r := func(name string, some time.Duration) *Reading {
		s := web()
		s.Ref = "docker:" + name
		out := reading(s, counts{}, 0)
		out.Pressure = &Pressure{Some: some}
		return out
	}
	before := at(0, r("a", 0), r("b", 0), r("c", 0))
	after := at(1, r("a", 0), r("b", time.Second), r("c", 5*time.Millisecond))
	i, err := Between(before, after, onDisk)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range i.Subjects {
		got = append(got, fmt.Sprint(u.Ref, " ", u.Busy()))
	}
	if s := strings.Join(got, ", "); s != "docker:b true, docker:a false, docker:c false" {
		t.Errorf("in their order: %s", s)
	}
}
