package goal

import (
	"bytes"
	"fmt"
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

// TestCount: goals that were missed are counted in whatever pieces they are written, and all is passed on.
func TestCount(t *testing.T) {
	var out bytes.Buffer
	c := &Count{Writer: &out}
	text := fmt.Sprintf("a %s\nb %s %s\nc %s\n", Verdict(true), Verdict(false), Verdict(false), Verdict(false))
	for i := range text {
		if n, err := c.Write([]byte(text[i : i+1])); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if c.Missed != 3 || out.String() != text {
		t.Errorf("%d missed in %q, want 3 in %q", c.Missed, out.String(), text)
	}
}
