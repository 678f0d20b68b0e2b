package target

import (
	"errors"
	"fmt"
	"testing"

	"plimsoll/internal/testkit/texttest"
)

// finder makes a Finder and closes it at the test's end.
func finder(t *testing.T, opt Options) *Finder {
	t.Helper()
	f := New(opt)
	t.Cleanup(func() { f.Close() })
	return f
}

// resolve finds a target that must exist.
func resolve(t *testing.T, f *Finder, s string) Target {
	t.Helper()
	r, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Resolve(t.Context(), r)
	if err != nil {
		t.Fatalf("Resolve(%s): %v", s, err)
	}
	return got
}

// resolveErr returns the error for a target that can't be found.
func resolveErr(t *testing.T, f *Finder, s string) error {
	t.Helper()
	r, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Resolve(t.Context(), r)
	if err == nil {
		t.Fatalf("Resolve(%s) = %+v, want an error", s, got)
	}
	return err
}

// wantErr fails unless err is an E and its text has all words.
func wantErr[E error](t *testing.T, err error, words ...string) (e E) {
	t.Helper()
	if !errors.As(err, &e) {
		t.Errorf("%v is a %T, want a %T", err, err, e)
	}
	texttest.Has(t, fmt.Sprint(err), words)
	return e
}
