package fuzztest

import (
	"fmt"
	"strings"
	"testing"
)

// recorder is a test that records its errors.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

var sink []byte

func TestBoundedFindsGreed(t *testing.T) {
	for size, want := range map[int]int{1 << 10: 0, 70 << 20: 1} {
		r := &recorder{TB: t}
		Bounded(r, "in put", func() {
			// In pieces: memory that was freed counts, too.
			for n := 0; n < size; n += 1 << 20 {
				sink = make([]byte, min(size, 1<<20))
			}
		})
		if len(r.errors) != want || want > 0 && !strings.Contains(r.errors[0], `"in put"`) {
			t.Errorf("%d bytes: %q", size, r.errors)
		}
	}
}
