package main

import (
	"encoding"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/daemon"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/change"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/iocost"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/limit/show"
	"plimsoll/internal/watch"
)

// TestLimitDocs: the manual names every key of the JSON of set, clear, show and cost, and of the daemon's --status and --check, in the
// part that is about it.
func TestLimitDocs(t *testing.T) {
	// These have a part of the manual, and a test, of their own: limit-values.md, explain's and watch's JSON.
	elsewhere := []reflect.Type{reflect.TypeFor[time.Time](), reflect.TypeFor[limit.Limits](), reflect.TypeFor[explain.Explanation](), reflect.TypeFor[watch.Interval]()}
	for _, tt := range []struct {
		page, from, to string
		types          []reflect.Type
	}{
		{"limit.md", "\n## JSON\n", "\n## ", []reflect.Type{reflect.TypeFor[change.Result](), reflect.TypeFor[show.Answer](), reflect.TypeFor[show.List](), reflect.TypeFor[iocost.Result]()}},
		{"daemon.md", "\n## The state\n", "\n## ", []reflect.Type{reflect.TypeFor[daemon.Status]()}},
		{"daemon.md", "\n## The JSON of --check\n", "\n## ", []reflect.Type{reflect.TypeFor[keeper.Preview]()}},
	} {
		b, err := os.ReadFile("../../docs/reference/" + tt.page)
		if err != nil {
			t.Fatal(err)
		}
		_, part, ok := strings.Cut(string(b), tt.from)
		if part, _, _ = strings.Cut(part, tt.to); !ok {
			t.Fatalf("docs/reference/%s has no%s", tt.page, tt.from)
		}
		seen := map[reflect.Type]bool{reflect.TypeFor[target.Target](): true}
		for _, typ := range elsewhere {
			seen[typ] = true
		}
		var visit func(reflect.Type)
		visit = func(typ reflect.Type) {
			for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
				typ = typ.Elem()
			}
			// A type with a text of its own, such as a device's number, has no keys.
			if typ.Kind() != reflect.Struct || seen[typ] || typ.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
				return
			}
			seen[typ] = true
			for i := range typ.NumField() {
				f := typ.Field(i)
				key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if key == "-" || !f.IsExported() && !f.Anonymous {
					continue
				}
				if !f.Anonymous && !strings.Contains(part, "`"+key+"`") {
					t.Errorf("docs/reference/%s lacks the key %q of %s in %q", tt.page, key, typ, strings.TrimSpace(tt.from))
				}
				visit(f.Type)
			}
		}
		for _, typ := range tt.types {
			visit(typ)
		}
	}
}
