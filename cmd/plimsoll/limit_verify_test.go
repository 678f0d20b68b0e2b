package main

import (
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/verify"
	"plimsoll/internal/measure/verify/row"
)

// TestVerifyFlags: what can't be tried is refused as wrong usage.
func TestVerifyFlags(t *testing.T) {
	good := limitVerifyFlags{modes: []string{"direct"}, time: 3 * time.Second, tolerance: 0.1}
	if _, err := good.check(); err != nil {
		t.Errorf("%+v: %v", good, err)
	}
	for words, change := range map[string]func(f *limitVerifyFlags){
		"--modes foo: choose among direct, dsync, buffered+fsync, buffered": func(f *limitVerifyFlags) { f.modes = []string{"foo"} },
		"--modes is empty":                 func(f *limitVerifyFlags) { f.modes = nil },
		"--time 1s":                        func(f *limitVerifyFlags) { f.time = time.Second },
		"--tolerance 0: write more than 0": func(f *limitVerifyFlags) { f.tolerance = 0 },
		"--tolerance -1":                   func(f *limitVerifyFlags) { f.tolerance = -1 },
		"--tolerance 101":                  func(f *limitVerifyFlags) { f.tolerance = 101 },
		"--tolerance NaN":                  func(f *limitVerifyFlags) { f.tolerance = math.NaN() },
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
	for _, typ := range []reflect.Type{reflect.TypeFor[verify.Result](), reflect.TypeFor[row.Row]()} {
		for _, f := range reflect.VisibleFields(typ) {
			if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() && !f.Anonymous && key != "-" && !strings.Contains(page, "`"+key+"`") {
				t.Errorf("docs/reference/limit-verify.md lacks the key %q of %s", key, typ)
			}
		}
	}
}
