package texttest

import (
	"fmt"
	"slices"
	"testing"
)

// A recorder is a test that keeps what failed.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper()                      {}
func (r *recorder) Errorf(f string, args ...any) { r.said = append(r.said, fmt.Sprintf(f, args...)) }

func TestHas(t *testing.T) {
	r := &recorder{TB: t}
	Has(r, "a b", []string{"a", "c", "d"}, "row", 1)
	Lacks(r, "a b", []string{"c", "b"})
	want := []string{"row 1: no \"c\" in:\na b", "row 1: no \"d\" in:\na b", "\"b\" in:\na b"}
	if !slices.Equal(r.said, want) {
		t.Errorf("said %q, want %q", r.said, want)
	}
}
