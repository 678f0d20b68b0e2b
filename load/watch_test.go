package load

import (
	"testing"
	"time"
)

func TestSampleEvery(t *testing.T) {
	for _, row := range []struct{ runtime, want time.Duration }{
		{0, time.Second},
		{time.Millisecond, 10 * time.Millisecond},
		{400 * time.Millisecond, 20 * time.Millisecond},
		{10 * time.Second, 500 * time.Millisecond},
		{20 * time.Second, time.Second},
		{time.Hour, time.Second},
	} {
		if got := SampleEvery(row.runtime); got != row.want {
			t.Errorf("SampleEvery(%v) = %v, want %v", row.runtime, got, row.want)
		}
	}
}
