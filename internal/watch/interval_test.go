package watch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/cgroupio"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
)

const mib = 1 << 20

// The devices of these tests: two loops, a disk beneath the first, and one more.
var (
	loop0 = device.Number{Major: 7, Minor: 0}
	loop1 = device.Number{Major: 7, Minor: 1}
	vda   = device.Number{Major: 254, Minor: 0}
	sdb   = device.Number{Major: 8, Minor: 16}
)

// onDisk: loop1 stands on loop0, and that on vda.
func onDisk(n device.Number) []device.Number {
	return map[device.Number][]device.Number{loop0: {vda}, loop1: {loop0, vda}}[n]
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// at is a sample of a machine that counts on all of the devices, so many seconds after noon.
func at(seconds int, readings ...*Reading) *Sample {
	s := &Sample{At: noon.Add(time.Duration(seconds) * time.Second), Ticks: uint64(1000 + 100*seconds), Counted: []device.Number{loop0, loop1, vda, sdb}, Subjects: map[string]*Reading{}}
	for name, n := range map[string]device.Number{"loop0": loop0, "loop1": loop1, "vda": vda, "sdb": sdb} {
		s.Disks = append(s.Disks, Disk{Name: name, Number: n})
	}
	for _, r := range readings {
		s.Subjects[r.Subject.Ref] = r
	}
	return s
}

// web is a container with its layer on vda and a volume on loop0, that started long ago.
func web() *Subject {
	return &Subject{
		Ref: "docker:web", Target: target.Target{Kind: target.Container, Engine: target.Docker, Name: "web", ID: "abc", PID: 7, StartTime: 10},
		Places: []Place{
			{Name: "its own layer", Devices: []device.Number{vda}, Buffered: explain.Leaks},
			{Name: "volume data", Devices: []device.Number{loop0}, Buffered: explain.Leaks},
		},
		Buffered: explain.Leaks,
	}
}

// written are counters of writes of 1 MiB.
func written(mibs int64) cgroupio.Counters {
	return cgroupio.Counters{WriteBytes: mibs * mib, Writes: mibs}
}

type counts map[device.Number]cgroupio.Counters

// reading is one of a subject with one group.
func reading(s *Subject, c counts, app int64) *Reading {
	return &Reading{Subject: s, Groups: map[string]map[device.Number]cgroupio.Counters{"/web": c}, Processes: map[int]Process{7: wrote(10, 1, app*mib)}}
}

// one is the only usage of an interval.
func one(t *testing.T, before, after *Sample) Usage {
	t.Helper()
	i, err := Between(before, after, onDisk)
	if err != nil {
		t.Fatal(err)
	}
	if len(i.Subjects) != 1 {
		t.Fatalf("%d subjects, want 1: %+v", len(i.Subjects), i.Subjects)
	}
	return i.Subjects[0]
}

// TestStack: what goes through a stack counts once.
func TestStack(t *testing.T) {
	s := web()
	group := web()
	group.Places = nil
	volume := web()
	volume.Places = volume.Places[1:]
	nested := web()
	nested.Places = []Place{{Name: "volume data", Devices: []device.Number{loop1}}}
	for _, tt := range []struct {
		name        string
		sub         *Subject
		delta       counts
		bytes, most int64
		above       string
	}{
		{"a volume on a loop device, all of it charged beneath", volume, counts{loop0: written(100), vda: written(100)}, 100, 100, "vda: loop0"},
		{"a loop device on a loop device", nested, counts{loop0: written(100), loop1: written(100), vda: written(100)}, 100, 100, "loop0: loop1, vda: loop0"},
		{"its layer is on the disk beneath", s, counts{loop0: written(100), vda: written(20)}, 100, 120, "vda: loop0"},
		{"more than came from above", s, counts{loop0: written(100), vda: written(150)}, 150, 250, "vda: loop0"},
		{"places aren't known", group, counts{loop0: written(100), vda: written(20)}, 100, 120, "vda: loop0"},
		{"devices of their own", s, counts{sdb: written(5), vda: written(20)}, 25, 25, "vda: loop0"},
	} {
		before := counts{}
		after := counts{}
		for n, c := range tt.delta {
			before[n], after[n] = written(1000), add(written(1000), c)
		}
		u := one(t, at(0, reading(tt.sub, before, 0)), at(2, reading(tt.sub, after, 0)))
		if u.Write == nil {
			t.Fatalf("%s: no writes", tt.name)
		}
		if want := (Total{Flow: flow(tt.bytes*mib, u.Write.IOs, 2), Most: tt.most * mib}); *u.Write != want {
			t.Errorf("%s: %+v, want %+v", tt.name, *u.Write, want)
		}
		var above []string
		for _, c := range u.Devices {
			if len(c.Above) > 0 {
				above = append(above, fmt.Sprintf("%s: %s", c.Name, strings.Join(c.Above, ", ")))
			}
		}
		if slices.Sort(above); strings.Join(above, ", ") != tt.above {
			t.Errorf("%s: above are %v, want %s", tt.name, above, tt.above)
		}
		// A device that stands on another comes first.
		if n := len(u.Devices); u.Devices[0].Number == vda && n > 1 && slices.Contains(u.Devices[0].above, u.Devices[1].Number) {
			t.Errorf("%s: vda is before what stands on it", tt.name)
		}
	}
}

// TestCounts: what isn't counted is not 0, and counters that fall begin again.
func TestCounts(t *testing.T) {
	s := web()
	s.Places = s.Places[1:]
	uncounted := func(sample *Sample) *Sample { sample.Counted = []device.Number{vda}; return sample }
	for _, tt := range []struct {
		name          string
		before, after *Sample
		bytes         int64 // -1: not counted
		why           string
	}{
		{"never limited", uncounted(at(0, reading(s, counts{}, 0))), uncounted(at(1, reading(s, counts{}, 0))), -1, "only once any group"},
		{"limited in between", uncounted(at(0, reading(s, counts{}, 0))), at(1, reading(s, counts{loop0: written(3)}, 0)), -1, "began to count"},
		{"nothing done", at(0, reading(s, counts{}, 0)), at(1, reading(s, counts{}, 0)), 0, ""},
		{"first I/O", at(0, reading(s, counts{}, 0)), at(1, reading(s, counts{loop0: written(3)}, 0)), 3, ""},
		{"counters set to 0", at(0, reading(s, counts{loop0: written(50)}, 0)), at(1, reading(s, counts{loop0: written(3)}, 0)), 3, ""},
	} {
		u := one(t, tt.before, tt.after)
		if len(u.Devices) != 1 || u.Devices[0].Name != "loop0" || !strings.Contains(u.Devices[0].Why, tt.why) {
			t.Errorf("%s: %+v", tt.name, u.Devices)
			continue
		}
		c := u.Devices[0]
		switch {
		case tt.bytes < 0:
			if c.Read != nil || c.Write != nil {
				t.Errorf("%s: %+v; want that it isn't known", tt.name, c)
			}
			if u.Write != nil || u.Uncharged != nil {
				t.Errorf("%s: total %+v, uncharged %v; want that it isn't known", tt.name, u.Write, u.Uncharged)
			}
		case c.Write == nil || c.Write.Bytes != tt.bytes*mib || u.Write.Bytes != tt.bytes*mib || c.Why != "":
			t.Errorf("%s: %+v, total %+v, want %d MiB", tt.name, c.Write, u.Write, tt.bytes)
		}
	}
	// One of two devices isn't counted: the total says so.
	u := one(t, uncounted(at(0, reading(web(), counts{vda: written(1)}, 0))), uncounted(at(1, reading(web(), counts{vda: written(5)}, 0))))
	if u.Write == nil || u.Write.Bytes != 4*mib || !u.Write.Partial {
		t.Errorf("total %+v, want 4 MiB and more", u.Write)
	}
	// A device that the kernel counts everywhere (version 2).
	before, after := uncounted(at(0, reading(s, counts{}, 0))), uncounted(at(1, reading(s, counts{}, 0)))
	before.CountsAll, after.CountsAll = true, true
	if u := one(t, before, after); u.Devices[0].Write == nil {
		t.Errorf("version 2: %+v", u.Devices[0])
	}
}

// TestUncharged: buffered writes that no group is charged for are told.
func TestUncharged(t *testing.T) {
	charged := web()
	for i := range charged.Places {
		charged.Places[i].Buffered = explain.Late
	}
	none := int64(0)
	left := int64(90 * mib)
	for _, tt := range []struct {
		name string
		sub  *Subject
		want *int64
		dev  int64
		app  int64
	}{
		{"left in the page cache", web(), &left, 10, 100},
		{"all charged", web(), &none, 100, 100},
		{"version 2 charges later", charged, nil, 10, 100},
	} {
		u := one(t, at(0, reading(tt.sub, counts{loop0: written(1)}, 5)), at(1, reading(tt.sub, counts{loop0: written(1 + tt.dev)}, 5+tt.app)))
		if diff := cmp.Diff(tt.want, u.Uncharged); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		if u.App == nil || u.App.StorageWritten != tt.app*mib {
			t.Errorf("%s: %+v", tt.name, u.App)
		}
	}
}

// TestComeAndGo: what begins, ends and is started again between two samples.
func TestComeAndGo(t *testing.T) {
	fresh := web()
	fresh.Target.StartTime = 1050
	old := web()
	gone := reading(web(), nil, 0)
	gone.Err = fmt.Errorf("container web: %w", cgroup.ErrGone)
	refused := reading(web(), nil, 0)
	refused.Err = fmt.Errorf("group /web: permission denied")
	for _, tt := range []struct {
		name          string
		before, after *Sample
		bytes         int64 // -1: nothing is known
		ended         bool
		shown         bool
	}{
		{"it began", at(0), at(1, reading(fresh, counts{vda: written(4)}, 4)), 4, false, true},
		{"it was found late", at(0), at(1, reading(old, counts{vda: written(4)}, 4)), -1, false, false},
		{"its group is gone", at(0, reading(old, counts{}, 0)), at(1, gone), -1, true, true},
		{"it isn't watched any more", at(0, reading(old, counts{}, 0)), at(1), -1, true, true},
		{"started again with the same id", at(0, reading(old, counts{vda: written(1)}, 1)), at(1, reading(fresh, counts{vda: written(4)}, 4)), 4, false, true},
		{"its group can't be read", at(0, reading(old, counts{}, 0)), at(1, refused), -1, false, true},
	} {
		i, err := Between(tt.before, tt.after, onDisk)
		if err != nil {
			t.Fatal(err)
		}
		if len(i.Subjects) == 0 {
			if tt.shown {
				t.Errorf("%s: it isn't shown", tt.name)
			}
			continue
		}
		u := i.Subjects[0]
		if u.Ended != tt.ended || !tt.shown {
			t.Errorf("%s: ended %t, want %t; shown, want %t", tt.name, u.Ended, tt.ended, tt.shown)
		}
		if tt.bytes < 0 != (u.Write == nil) || tt.bytes >= 0 && u.Write.Bytes != tt.bytes*mib {
			t.Errorf("%s: %+v, want %d MiB", tt.name, u.Write, tt.bytes)
		}
		if tt.name == "its group can't be read" && !strings.Contains(u.Why, "permission denied") {
			t.Errorf("%s: why is %q", tt.name, u.Why)
		}
	}
}

// TestDisksComeAndGo: a device that vanished is told of, one that appeared counts from 0.
func TestDisksComeAndGo(t *testing.T) {
	before, after := at(0), at(1)
	before.Disks = []Disk{{Name: "sda", Number: device.Number{Major: 8, Minor: 0}, Read: Requests{IOs: 5}}, {Name: "dm-0", Number: device.Number{Major: 252, Minor: 0}, Read: Requests{IOs: 5, Sectors: 10}}}
	after.Disks = []Disk{{Name: "sdc", Number: device.Number{Major: 8, Minor: 32}, Read: Requests{IOs: 7}}, {Name: "dm-1", Number: device.Number{Major: 252, Minor: 0}, Read: Requests{IOs: 9, Sectors: 90}}}
	i, err := Between(before, after, onDisk)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, d := range i.Devices {
		got[d.Name] = d.ReadsS
	}
	if diff := cmp.Diff(map[string]float64{"sdc": 7, "dm-1": 9}, got); diff != "" {
		t.Error(diff)
	}
	if len(i.Notes) != 1 || !strings.HasPrefix(i.Notes[0], "sda went away") {
		t.Errorf("notes: %q", i.Notes)
	}
	if _, err := Between(after, before, onDisk); err == nil {
		t.Error("samples in the wrong order: no error")
	}
}

// TestRates: asked against seen, in version 1 of each group by itself.
func TestRates(t *testing.T) {
	limits := map[device.Number]limit.Limits{{Major: 7}: {WriteBPS: 10 * mib, WriteIOPS: 100}, {Major: 8, Minor: 16}: {ReadBPS: mib}}
	r := func(own, below int64) *Reading {
		out := reading(web(), counts{loop0: written(own)}, 0)
		out.Groups["/web/below"] = counts{loop0: written(below)}
		out.Limits = []cgroup.State{
			{Group: "/web", Version: 1, Devices: limits, Limits: limit.Limits{CPUs: 1.5}},
			{Group: "/web/below", Version: 1, Devices: map[device.Number]limit.Limits{{Major: 7}: {WriteBPS: 10 * mib}}},
		}
		return out
	}
	before, after := at(0, r(0, 0)), at(2, r(19, 40))
	for _, s := range []*Sample{before, after} {
		s.Counted = []device.Number{loop0, vda}
	}
	u := one(t, before, after)
	var got []string
	for _, r := range u.Rates {
		seen := "?"
		if r.Seen != nil {
			seen = fmt.Sprintf("%g", *r.Seen)
		}
		got = append(got, fmt.Sprintf("%s %s %s %d %s %s", r.Group, r.Device, r.Key, r.Asked, seen, r.Standing))
	}
	want := []string{
		"/web loop0 write_bps 10485760 9.961472e+06 at the limit",
		"/web loop0 write_iops 100 9.5 below",
		"/web sdb read_bps 1048576 ? unknown",
		"/web/below loop0 write_bps 10485760 2.097152e+07 ABOVE THE LIMIT",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if u.Limits == nil || u.Limits.CPUs != 1.5 {
		t.Errorf("other limits: %+v", u.Limits)
	}
}

// TestJudge: two of the kernel's slices may come through at once.
func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		seen, seconds float64
		want          Standing
	}{{94, 1, Below}, {95, 1, At}, {125, 1, At}, {126, 1, Above}, {107.1, 10, Above}, {107, 10, At}} {
		r := Rate{Asked: 100, Seen: &tt.seen}
		if r.judge(tt.seen, tt.seconds, r.Asked); r.Standing != tt.want {
			t.Errorf("%g of 100 in %g s is %q, want %q", tt.seen, tt.seconds, r.Standing, tt.want)
		}
	}
	// A limit that changed in the interval isn't passed, nor one that was set in it.
	for _, was := range []int64{0, 400} {
		seen := 304.0
		r := Rate{Asked: 100, Seen: &seen}
		if r.judge(seen, 10, was); r.Standing != Changed {
			t.Errorf("304 of 100, which were %d at the beginning, are %q, want %q", was, r.Standing, Changed)
		}
	}
}

// TestWaits: pressure and stops of CPUs are differences, and nil where they aren't told.
func TestWaits(t *testing.T) {
	r := func(stopped, some time.Duration) *Reading {
		out := reading(web(), counts{}, 0)
		out.CPU = &cgroupio.Throttled{Periods: int64(stopped / time.Millisecond), Time: stopped}
		out.Pressure = &Pressure{Some: some, Full: some / 2}
		return out
	}
	u := one(t, at(0, r(time.Second, time.Second)), at(1, r(1500*time.Millisecond, 1200*time.Millisecond)))
	if d := cmp.Diff([]any{&CPU{500, 0.5}, &Waits{0.2, 0.1}, &WaitTime{0.2, "pressure"}}, []any{u.CPU, u.Waits, u.WaitTime}); d != "" {
		t.Error(d)
	}
	u = one(t, at(0, reading(web(), counts{}, 0)), at(1, r(1, 1)))
	if u.CPU != nil || u.Waits != nil || u.WaitTime != nil {
		t.Errorf("CPU %+v, waits %+v, %+v, want none", u.CPU, u.Waits, u.WaitTime)
	}
	waited := func(d time.Duration) cgroupio.Counters {
		return cgroupio.Counters{Waited: d, Delayed: d, Timed: true}
	}
	u = one(t, at(0, reading(web(), counts{vda: waited(time.Second)}, 0)), at(1, reading(web(), counts{vda: waited(1100 * time.Millisecond)}, 0)))
	if w := u.Devices[len(u.Devices)-1].Waited; w == nil || *w != 0.2 {
		t.Errorf("iocost: %+v", u.Devices)
	}
}

// TestVolumes: a device of its own is the volume's; another's isn't told apart.
func TestVolumes(t *testing.T) {
	before, after := at(0), at(2)
	after.Disks[slices.IndexFunc(after.Disks, func(d Disk) bool { return d.Name == "loop0" })].Write = Requests{IOs: 10, Sectors: 2048}
	after.Volumes = []Volume{
		{Ref: "volume:docker:data", Name: "data", Devices: []device.Number{loop0}, Own: true, Users: []string{"docker:web"}},
		{Ref: "volume:docker:more", Name: "more", Devices: []device.Number{vda}, Why: "other data"},
		{Ref: "volume:docker:lost", Name: "lost", Devices: []device.Number{{Major: 9, Minor: 9}}, Own: true},
	}
	i, err := Between(before, after, onDisk)
	if err != nil {
		t.Fatal(err)
	}
	want := []VolumeUse{
		{Ref: "volume:docker:data", Name: "data", Devices: []string{"loop0"}, Read: new(Flow), Write: &Flow{mib, 10, mib / 2, 5}, Users: []string{"docker:web"}},
		{Ref: "volume:docker:more", Name: "more", Devices: []string{"vda"}, Why: "other data"},
		{Ref: "volume:docker:lost", Name: "lost", Devices: []string{"9:9"}, Why: "its device 9:9 is gone"},
	}
	if d := cmp.Diff(want, i.Volumes); d != "" {
		t.Error(d)
	}
}
