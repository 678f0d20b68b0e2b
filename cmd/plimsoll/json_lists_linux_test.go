package main

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/daemon"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/change"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/iocost"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/limit/show"
	"plimsoll/internal/measure/verify"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/text/jsonlist"
	"plimsoll/internal/watch"
)

// TestJSONLists: lists, maps and booleans are in what limit, daemon and watch print as JSON also where they are empty or false, and no list is null: a
// script loops over them. They were left out.
func TestJSONLists(t *testing.T) {
	for _, v := range []any{
		show.Answer{Scope: &hold.Scope{}, Shown: make([]show.Shown, 1), DeviceLimits: make([]show.DeviceLimit, 1)}, show.List{}, change.Result{Scope: &hold.Scope{}, Done: make([]hold.Done, 1)},
		explain.Answer{Paths: []*explain.Explanation{{}}}, []verify.Result{{Rows: make([]row.Row, 1)}}, iocost.Result{}, keeper.Preview{},
		daemon.Status{Status: keeper.Status{Containers: make([]keeper.ContainerStatus, 1), RootGroup: &keeper.ContainerStatus{}}}, &watch.Interval{Subjects: make([]watch.Usage, 1), Volumes: make([]watch.VolumeUse, 1)},
	} {
		b, err := json.Marshal(jsonlist.Of(v))
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		t.Run(reflect.TypeOf(v).String(), func(t *testing.T) { sameKeys(t, reflect.TypeOf(v), got) })
	}
}

// sameKeys fails a test if what JSON has of a type lacks one of its lists, maps or booleans, or has null for it.
func sameKeys(t *testing.T, of reflect.Type, got any) {
	t.Helper()
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	list, _ := got.([]any)
	m, _ := got.(map[string]any)
	switch {
	case of == reflect.TypeFor[limit.Limits]() || strings.HasSuffix(of.PkgPath(), "/internal/host/device") || got == nil:
		// Of limits those are there that there are; a device or mount has what it has.
	case of.Kind() == reflect.Slice && of.Elem().Kind() != reflect.Uint8:
		for _, e := range list {
			sameKeys(t, of.Elem(), e)
		}
	case of.Kind() == reflect.Struct:
		for i := range of.NumField() {
			f := of.Field(i)
			words := strings.Split(f.Tag.Get("json"), ",")
			switch {
			case f.Anonymous && words[0] == "":
				sameKeys(t, f.Type, got)
				continue
			case !f.IsExported() || words[0] == "-" || words[0] == "":
				continue
			}
			e, ok := m[words[0]]
			if kinds := []reflect.Kind{reflect.Slice, reflect.Map, reflect.Bool}; f.Type != reflect.TypeFor[[]byte]() && slices.Contains(kinds, f.Type.Kind()) && (!ok || e == nil) { // Bytes are a text.
				t.Errorf("%s of %s is left out, or null: %v", words[0], of, e)
			}
			sameKeys(t, f.Type, e)
		}
	}
}
