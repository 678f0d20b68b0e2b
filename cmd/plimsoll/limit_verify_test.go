package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/verify"
	"plimsoll/internal/measure/verify/row"
)

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
		v := verify.Proof{}
		for _, verdict := range tt.rows {
			v.Rows = append(v.Rows, row.Row{Finding: judge.Finding{Verdict: verdict}})
		}
		err := verdict([]verify.Proof{v})
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
	for _, typ := range []reflect.Type{reflect.TypeFor[verify.Proof](), reflect.TypeFor[row.Row]()} {
		for _, f := range reflect.VisibleFields(typ) {
			if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() && !f.Anonymous && key != "-" && !strings.Contains(page, "`"+key+"`") {
				t.Errorf("docs/reference/limit-verify.md lacks the key %q of %s", key, typ)
			}
		}
	}
}

// TestVerifyLimitsInterrupted: what was tried until an interrupt stands, and what is told says so.
func TestVerifyLimitsInterrupted(t *testing.T) {
	for _, x := range []struct {
		rows []row.Row
		want string
	}{
		{nil, "interrupted: nothing is proved yet"},
		{[]row.Row{{Finding: judge.Finding{Verdict: judge.Held}}}, "interrupted: 1 row tried, see the lines above; the rest is not tried"},
	} {
		a := &app{stdout: io.Discard}
		err := a.tellVerified([]verify.Proof{{Rows: x.rows}}, false, limitError(fmt.Errorf("worker: %w", context.Canceled)))
		if err == nil || err.Error() != x.want {
			t.Errorf("%d rows: %v, want %q", len(x.rows), err, x.want)
		}
	}
}
