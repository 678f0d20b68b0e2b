package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/watch"
)

var update = flag.Bool("update", false, "write the golden files anew")

// watchedInterval has a row of every kind.
func watchedInterval() *watch.Interval {
	const mib = 1 << 20
	flow := func(n int64) *watch.Flow {
		return &watch.Flow{Bytes: n * mib, IOs: n, BytesS: float64(n * mib), IOsS: float64(n)}
	}
	total := func(n, most int64) *watch.Total { return &watch.Total{Flow: *flow(n), Most: most * mib} }
	seen, left, waited := float64(10*mib), int64(5*mib), 0.25
	return &watch.Interval{
		At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local), Seconds: 1,
		Subjects: []watch.Usage{
			{
				Ref: "docker:web", Groups: []string{"/web", "/web/below"},
				App:  &watch.App{ReadCalls: *flow(1), WriteCalls: *flow(17), StorageRead: mib, StorageWritten: 17 * mib, Cancelled: mib, Processes: 1},
				Read: total(1, 1), Write: total(11, 12), Uncharged: &left,
				Devices: []watch.Charge{
					{Name: "loop0", Number: "7:0", Places: []string{"volume data"}, Read: flow(0), Write: flow(10), Buffered: explain.Leaks, Waited: &waited, Service: &watch.Service{Await: 1.5, Queue: 0.02, Util: 12, Alone: true}},
					{Name: "vda", Number: "254:0", Places: []string{"its own layer", "/srv"}, Above: []string{"loop0"}, Read: flow(1), Write: flow(2), Buffered: explain.Late, Service: &watch.Service{Await: 0.25, Queue: 0.5, Util: 40}},
					{Name: "sdb", Number: "8:16", Places: []string{"/logs"}, Why: "not counted"},
					{Name: "sdc", Number: "8:32", Above: []string{"vda"}, Read: flow(0), Write: flow(0)},
				},
				Rates: []watch.Rate{
					{Group: "/web", Device: "loop0", Number: "7:0", Key: limit.WriteBPS, Asked: 10 * mib, Seen: &seen, Standing: watch.At},
					{Group: "/web", Device: "sdb", Number: "8:16", Key: limit.ReadIOPS, Asked: 500, Standing: watch.Unknown},
					{Group: "/web/below", Device: "loop0", Number: "7:0", Key: limit.WriteBPS, Asked: 40 * mib, Seen: &seen, Standing: watch.Below},
				},
				Limits: &limit.Limits{CPUs: 1.5}, CPU: &watch.CPU{Periods: 5, Seconds: 0.5}, Waits: &watch.Waits{Some: 0.97, Full: 0.5}, WaitTime: &watch.WaitTime{Seconds: 0.97, From: "pressure"},
				Notes: []string{"a doubt\x1b[2J"},
			},
			{Ref: "podman:user", AppWhy: "process 7: permission denied", Read: total(0, 1), Write: total(0, 0), Devices: []watch.Charge{{Name: "vda", Number: "254:0", Read: flow(1), Write: flow(0)}}},
			{Ref: "docker:old", Ended: true},
			{Ref: "docker:idle", App: &watch.App{}, Read: total(0, 0), Write: total(0, 0)},
		},
		Nobody: &watch.Nobody{Devices: []watch.Charge{{Name: "vda", Number: "254:0", Read: flow(0), Write: flow(3)}}},
		Volumes: []watch.VolumeUse{
			{Ref: "volume:docker:data", Devices: []string{"loop0"}, Read: flow(0), Write: flow(10), Users: []string{"docker:web"}},
			{Ref: "volume:docker:more", Devices: []string{"vda"}, Why: "other data is on its device"},
		},
		Devices: []watch.DiskUse{
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
		text watchText
	}{
		{"all.txt", watchText{}},
		{"named.txt", watchText{all: true, width: 120}},
		{"devices.txt", watchText{devices: true}},
	} {
		got := tt.text.write(watchedInterval())
		name := filepath.Join("testdata", "watch", tt.file)
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.file, diff)
		}
	}
	empty := &watch.Interval{}
	if got := (watchText{}).write(empty); !strings.Contains(got, "no container runs here") {
		t.Errorf("without containers: %s", got)
	}
	idle := &watch.Interval{Subjects: []watch.Usage{{Ref: "docker:idle", App: &watch.App{}}}}
	if got := (watchText{}).write(idle); !strings.Contains(got, "none of them does any I/O") || !strings.Contains(got, "1 target, 1 idle") {
		t.Errorf("with an idle one: %s", got)
	}
}

// TestRateWords: a limit on I/Os reads as it was set, and what waits is told.
func TestRateWords(t *testing.T) {
	seen := 5100.0
	for want, r := range map[string]watch.Rate{
		"read_iops 5000 IOPS: 102 %, at the limit": {Key: limit.ReadIOPS, Asked: 5000, Seen: &seen, Standing: watch.At},
		"write_bps 10 KiB/s: 50 %, 30 MiB wait":    {Key: limit.WriteBPS, Asked: 10 << 10, Seen: &seen, Standing: watch.Below, Waiting: 30 << 20},
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
	got := onScreen(text.String(), 5, 8)
	want := "\x1b[Hline 0 …\x1b[K\nline 1 …\x1b[K\nline 2 …\x1b[K\n... 7 m…\x1b[K\n\x1b[J"
	if got != want {
		t.Errorf("onScreen() = %q, want %q", got, want)
	}
	if got := onScreen("a\nb\n", 5, 0); got != "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J" {
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
		if typ.Kind() != reflect.Struct || seen[typ] || typ == reflect.TypeFor[time.Time]() {
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
	visit(reflect.TypeFor[watch.Interval]())
	if len(seen) < 10 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}
