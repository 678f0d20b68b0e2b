package watch

import (
	"encoding"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/testkit/golden"
)

// watchedInterval has a row of every kind.
func watchedInterval() *Interval {
	const mib = 1 << 20
	flow := func(n int64) *Flow {
		return &Flow{Bytes: n * mib, IOs: n, BytesS: float64(n * mib), IOsS: float64(n)}
	}
	total := func(n, most int64) *Total { return &Total{Flow: *flow(n), Most: most * mib} }
	seen, left, waited := float64(10*mib), int64(5*mib), 0.25
	return &Interval{
		At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local), Seconds: 1,
		Subjects: []Usage{
			{
				Ref: "docker:web", Groups: []string{"/web", "/web/below"},
				App:  &App{ReadCalls: *flow(1), WriteCalls: *flow(17), StorageRead: mib, StorageWritten: 17 * mib, Cancelled: mib, Processes: 1},
				Read: total(1, 1), Write: total(11, 12), Uncharged: &left,
				Devices: []Charge{
					{Name: "loop0", Number: device.Number{Major: 7, Minor: 0}, Places: []string{"volume data"}, Read: flow(0), Write: flow(10), Buffered: explain.Leaks, Waited: &waited, Service: &Service{Await: 1.5, Queue: 0.02, Util: 12, Alone: true}},
					{Name: "vda", Number: device.Number{Major: 254, Minor: 0}, Places: []string{"its own layer", "/srv"}, Above: []string{"loop0"}, Read: flow(1), Write: flow(2), Buffered: explain.Late, Service: &Service{Await: 0.25, Queue: 0.5, Util: 40}},
					{Name: "sdb", Number: device.Number{Major: 8, Minor: 16}, Places: []string{"/logs"}, Why: "not counted"},
					{Name: "sdc", Number: device.Number{Major: 8, Minor: 32}, Above: []string{"vda"}, Read: flow(0), Write: flow(0)},
				},
				Rates: []Rate{
					{Group: "/web", Device: "loop0", Number: device.Number{Major: 7, Minor: 0}, Key: limit.WriteBPS, Asked: 10 * mib, Seen: &seen, Standing: At},
					{Group: "/web", Device: "sdb", Number: device.Number{Major: 8, Minor: 16}, Key: limit.ReadIOPS, Asked: 500, Standing: Unknown},
					{Group: "/web/below", Device: "loop0", Number: device.Number{Major: 7, Minor: 0}, Key: limit.WriteBPS, Asked: 40 * mib, Seen: &seen, Standing: Below},
				},
				Limits: &limit.Limits{CPUs: 1.5}, CPU: &CPU{Periods: 5, Seconds: 0.5}, Waits: &Waits{Some: 0.97, Full: 0.5}, WaitTime: &WaitTime{Seconds: 0.97, From: "pressure"},
				Notes: []string{"a doubt\x1b[2J"},
			},
			{Ref: "podman:user", AppWhy: "process 7: permission denied", Read: total(0, 1), Write: total(0, 0), Devices: []Charge{{Name: "vda", Number: device.Number{Major: 254, Minor: 0}, Read: flow(1), Write: flow(0)}}},
			{Ref: "docker:old", Ended: true},
			{Ref: "docker:idle", App: &App{}, Read: total(0, 0), Write: total(0, 0)},
		},
		RootGroup: &RootGroup{Devices: []Charge{{Name: "vda", Number: device.Number{Major: 254, Minor: 0}, Read: flow(0), Write: flow(3)}}},
		Volumes: []VolumeUse{
			{Ref: "volume:docker:data", Devices: []string{"loop0"}, Read: flow(0), Write: flow(10), Users: []string{"docker:web"}},
			{Ref: "volume:docker:more", Devices: []string{"vda"}, Why: "other data is on its device"},
		},
		Devices: []DiskUse{
			{Name: "loop0", WritesS: 10, WriteKBS: 10240, WriteMS: 2, WriteMPC: 16.67, WriteAw: 1.5, WriteSz: 1024, ReadsS: 10, ReadKBS: 40, ReadAw: 0.5, ReadSz: 4, Queue: 0.02, Util: 12.34, Active: true},
			{Name: "idle"},
		},
		Notes: []string{"sdz went away"},
	}
}

// TestWatchText: a golden file of all kinds of rows, named and not, wide and narrow.
func TestWatchText(t *testing.T) {
	for _, tt := range []struct {
		file string
		text Text
	}{
		{"all.txt", Text{}},
		{"named.txt", Text{All: true, Width: 120}},
		{"devices.txt", Text{Devices: true}},
	} {
		got := tt.text.Write(watchedInterval())
		golden.Check(t, tt.file, got)
	}
	empty := &Interval{}
	if got := (Text{}).Write(empty); !strings.Contains(got, "no container runs here") {
		t.Errorf("without containers: %s", got)
	}
	idle := &Interval{Subjects: []Usage{{Ref: "docker:idle", App: &App{}}}}
	if got := (Text{}).Write(idle); !strings.Contains(got, "none of them does I/O") || !strings.Contains(got, "1 target, 1 idle") {
		t.Errorf("with an idle one: %s", got)
	}
}

// TestRateWords: a limit on I/Os reads as it was set, and what waits is told.
func TestRateWords(t *testing.T) {
	seen := 5100.0
	for want, r := range map[string]Rate{
		"read_iops 5000 IOPS: 102 %, at the limit": {Key: limit.ReadIOPS, Asked: 5000, Seen: &seen, Standing: At},
		"write_bps 10 KiB/s: 50 %, 30 MiB wait":    {Key: limit.WriteBPS, Asked: 10 << 10, Seen: &seen, Standing: Below, Waiting: 30 << 20},
	} {
		if got := rateWords(r); got != want {
			t.Errorf("rateWords() = %q, want %q", got, want)
		}
	}
}

// TestOnScreen: what doesn't fit is cut, and said to be.
func TestOnScreen(t *testing.T) {
	var text strings.Builder
	for i := range 10 {
		fmt.Fprintf(&text, "line %d äöü\n", i)
	}
	got := OnScreen(text.String(), 5, 8)
	want := "\x1b[Hline 0 …\x1b[K\nline 1 …\x1b[K\nline 2 …\x1b[K\n... 7 m…\x1b[K\n\x1b[J"
	if got != want {
		t.Errorf("OnScreen() = %q, want %q", got, want)
	}
	if got := OnScreen("a\nb\n", 5, 0); got != "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J" {
		t.Errorf("what fits: %q", got)
	}
}

// TestWatchDocs: the manual names every key of the JSON.
func TestWatchDocs(t *testing.T) {
	b, err := os.ReadFile("../../docs/reference/watch.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		// What writes itself as text has no keys.
		if typ.Kind() != reflect.Struct || seen[typ] || typ.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			f := typ.Field(i)
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.IsExported() && !f.Anonymous && !strings.Contains(page, "`"+key+"`") {
				t.Errorf("docs/reference/watch.md lacks the key %q of %s", key, typ)
			}
			if f.IsExported() {
				visit(f.Type)
			}
		}
	}
	visit(reflect.TypeFor[Interval]())
	if len(seen) < 10 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}
