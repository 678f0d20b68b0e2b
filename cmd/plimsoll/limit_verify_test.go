package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/verify"
)

// statusOf is the exit status that an error stands for.
func statusOf(err error) int {
	if err == nil {
		return exitDone
	}
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit.status
	}
	return exitFailure
}

// TestVerdict: what the rows stand for. One that could not be measured is no success beside one that is held.
func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		rows   []judge.Verdict
		status int
		words  string
	}{
		{[]judge.Verdict{judge.Held}, exitDone, ""},
		{[]judge.Verdict{judge.Held, judge.Unproved}, exitDone, ""},
		{[]judge.Verdict{judge.Unproved}, exitCannot, "nothing was proved"},
		{nil, exitCannot, "nothing was proved"},
		{[]judge.Verdict{judge.Held, judge.Failed}, exitFailure, "could not be measured: 1 of 2 rows"},
		{[]judge.Verdict{judge.Failed}, exitFailure, "could not be measured: 1 of 1 row"},
		{[]judge.Verdict{judge.Unproved, judge.Failed}, exitFailure, "could not be measured: 1 of 2 rows"},
		{[]judge.Verdict{judge.Held, judge.NotHeld}, exitNotHeld, "NOT held: 1 of 2 rows"},
		{[]judge.Verdict{judge.Failed, judge.NotHeld, judge.Held}, exitNotHeld, "NOT held: 1 of 3 rows; could not be measured: 1"},
	} {
		v := verified{}
		for _, verdict := range tt.rows {
			v.Rows = append(v.Rows, verify.Row{Verdict: verdict})
		}
		err := verdict([]verified{v})
		if got := statusOf(err); got != tt.status || err != nil && !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%v: status %d, %v; want %d, %q", tt.rows, got, err, tt.status, tt.words)
		}
	}
}

// TestVerifyFlags: what can't be tried is refused as wrong usage.
func TestVerifyFlags(t *testing.T) {
	good := limitVerifyFlags{modes: []string{"direct"}, time: 3 * time.Second, tolerance: 0.1}
	if _, err := good.check(); err != nil {
		t.Errorf("%+v: %v", good, err)
	}
	for words, change := range map[string]func(f *limitVerifyFlags){
		"--modes foo: there are direct, dsync, buffered+fsync, buffered": func(f *limitVerifyFlags) { f.modes = []string{"foo"} },
		"--modes is empty":           func(f *limitVerifyFlags) { f.modes = nil },
		"--time 1s":                  func(f *limitVerifyFlags) { f.time = time.Second },
		"--tolerance 0: more than 0": func(f *limitVerifyFlags) { f.tolerance = 0 },
		"--tolerance -1":             func(f *limitVerifyFlags) { f.tolerance = -1 },
		"--tolerance 101":            func(f *limitVerifyFlags) { f.tolerance = 101 },
		"--tolerance NaN":            func(f *limitVerifyFlags) { f.tolerance = math.NaN() },
	} {
		f := good
		change(&f)
		if _, err := f.check(); statusOf(err) != exitUsage || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", words, err)
		}
	}
}

// TestVerifyRoom: it is refused where the file would take more than half of what is free, and both are told.
func TestVerifyRoom(t *testing.T) {
	const mib = 1 << 20
	if err := roomIn("/data", 484*mib, 242*mib); err != nil {
		t.Error(err)
	}
	err := limitError(roomIn("/data", 433*mib, 242*mib))
	if statusOf(err) != exitCannot || !strings.Contains(err.Error(), "takes 242 MiB, and twice that must be free, because others go on writing: 433 MiB are") {
		t.Errorf("roomIn() = %v", err)
	}
}

// TestVerifyReason: a limit that is not held comes with the reason, and with what mends it.
func TestVerifyReason(t *testing.T) {
	const mib = 1 << 20
	v1 := &explain.Explanation{Modes: []explain.Mode{
		{Name: explain.Read, Group: explain.Held}, {Name: explain.Direct, Group: explain.Held}, {Name: explain.BufferedSync, Group: explain.Held, Why: "by the fsync"},
		{Name: explain.Buffered, Group: explain.Leaks, Device: explain.Held, Why: "the flusher"},
	}}
	v2 := &explain.Explanation{Modes: []explain.Mode{{Name: explain.Direct, Group: explain.Held}, {Name: explain.Buffered, Group: explain.Leaks, Why: "btrfs compresses"}}}
	for _, tt := range []struct {
		name        string
		on          *explain.Explanation
		group, root limit.Limits
		key         limit.Key
		mode        verify.Mode
		words       string
		fix         string
	}{
		{"it isn't set", v1, limit.Limits{}, limit.Limits{}, limit.WriteBPS, verify.Direct, "the kernel has no write_bps for container web on loop1; verify sets nothing", "plimsoll limit set web --path '/a b' --write-bps 5MiB"},
		{"it is set to more", v1, limit.Limits{WriteBPS: 10 * mib}, limit.Limits{}, limit.WriteBPS, verify.Direct, "the kernel has write_bps of 10MiB", "--write-bps 5MiB"},
		{"reads", v1, limit.Limits{}, limit.Limits{}, limit.ReadIOPS, verify.Buffered, "the kernel has no read_iops", "--read-iops 300"},
		{"the flusher", v1, limit.Limits{WriteBPS: 5 * mib}, limit.Limits{}, limit.WriteBPS, verify.Buffered, "the flusher; the root group has no write_bps on loop1", "--write-bps 5MiB --device-wide"},
		{"the flusher's is wider", v1, limit.Limits{WriteBPS: 5 * mib}, limit.Limits{WriteBPS: 6 * mib}, limit.WriteBPS, verify.Buffered, "the root group has write_bps of 6MiB on loop1", "--device-wide"},
		{"the flusher's number", v1, limit.Limits{WriteIOPS: 200}, limit.Limits{}, limit.WriteIOPS, verify.Buffered, "the flusher; the root group has no write_iops on loop1", "--write-iops 200 --device-wide"},
		{"before the sync", v1, limit.Limits{WriteIOPS: 200}, limit.Limits{}, limit.WriteIOPS, verify.BufferedSync, "a part was written before the sync: the flusher; the root group has no write_iops", "--write-iops 200 --device-wide"},
		{"a sync without a limit", v1, limit.Limits{}, limit.Limits{}, limit.WriteIOPS, verify.BufferedSync, "the kernel has no write_iops for container web", "plimsoll limit set web --path '/a b' --write-iops 200"},
		{"nothing holds it", v2, limit.Limits{WriteBPS: 5 * mib}, limit.Limits{}, limit.WriteBPS, verify.Buffered, "btrfs compresses", ""},
		{"nobody knows", v1, limit.Limits{WriteBPS: 5 * mib}, limit.Limits{}, limit.WriteBPS, verify.Direct, "no known I/O passes it", "plimsoll limit explain"},
	} {
		v := verification{
			part: hold.Part{Name: "container web"}, ground: hold.Ground{Explanation: tt.on}, spot: explain.Spot{Name: "loop1"},
			asked:   map[limit.Key]int64{limit.WriteBPS: 5 * mib, limit.ReadIOPS: 300, limit.WriteIOPS: 200},
			inGroup: tt.group, inRoot: tt.root, again: again("web", limitWhere{Where: hold.Where{Path: "/a b"}}),
		}
		rows := []verify.Row{{Key: tt.key, Mode: tt.mode, Verdict: judge.NotHeld}, {Key: tt.key, Mode: tt.mode, Verdict: judge.Held}}
		v.explain(rows)
		if !strings.Contains(rows[0].Why, tt.words) || !strings.Contains(rows[0].Fix, tt.fix) || tt.fix == "" && rows[0].Fix != "" {
			t.Errorf("%s: %q, fix %q; want %q, %q", tt.name, rows[0].Why, rows[0].Fix, tt.words, tt.fix)
		}
		if rows[1].Why != "" || rows[1].Fix != "" {
			t.Errorf("%s: a row that is held has a reason: %+v", tt.name, rows[1])
		}
	}
}

// TestVerifyDocs: the manual names every key of the JSON.
func TestVerifyDocs(t *testing.T) {
	b, err := os.ReadFile("../../docs/reference/limit-verify.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, ok := strings.Cut(string(b), "## JSON")
	if page, _, _ = strings.Cut(page, "\n## "); !ok {
		t.Fatal("docs/reference/limit-verify.md has no JSON")
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[verified](), reflect.TypeFor[verify.Row]()} {
		for i := range typ.NumField() {
			f := typ.Field(i)
			if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() && !strings.Contains(page, "`"+key+"`") {
				t.Errorf("docs/reference/limit-verify.md lacks the key %q of %s", key, typ)
			}
		}
	}
}

// TestVerifyLimitsInterrupted: what was tried until an interrupt stands, and what is told says so.
func TestVerifyLimitsInterrupted(t *testing.T) {
	for _, row := range []struct {
		rows []verify.Row
		want string
	}{
		{nil, "interrupted: nothing is proved yet"},
		{[]verify.Row{{Verdict: judge.Held}}, "interrupted: 1 row tried, see the lines above; the rest is not tried"},
	} {
		a := &app{stdout: io.Discard}
		err := a.tellVerified([]verified{{Rows: row.rows}}, false, limitError(fmt.Errorf("worker: %w", context.Canceled)))
		if err == nil || err.Error() != row.want {
			t.Errorf("%d rows: %v, want %q", len(row.rows), err, row.want)
		}
	}
}
