package threshold

import (
	"testing"
	"time"
)

func TestTook(t *testing.T) {
	for took, want := range map[time.Duration]string{
		1234 * time.Millisecond: "a report: 1.23 s, target <= 2 s, met",
		2 * time.Second:         "a report: 2.00 s, target <= 2 s, met",
		2*time.Second + 1:       "a report: 2.00 s, target <= 2 s, MISSED",
	} {
		if got := Took("a report", took, 2*time.Second); got != want {
			t.Errorf("Took(%v) = %q, want %q", took, got, want)
		}
	}
}
