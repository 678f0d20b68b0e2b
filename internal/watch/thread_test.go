package watch

import (
	"runtime"
	"testing"
	"time"
)

// TestWaitsForAsync reads what the kernel shows of a thread's call.
func TestWaitsForAsync(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the numbers below are amd64's")
	}
	for text, want := range map[string]bool{
		"":                                     false,
		"running\n":                            false,
		"-1 0x7ffc31d75d68 0x7fc29891f829\n":   false,
		"0 0x3 0x7f 0x1 0x0 0x0 0x0 0x1 0x2\n": false,
		"208 0x7fc28c483000 0x1 0x1 0x55dc937480d0 0x0 0x0 0x7ffc31d75d68 0x7fc29891f829\n": true, // fio with libaio, at a limit
		"333 0x7fc28c483000 0x1 0x1 0x0 0x0 0x0 0x1 0x2\n":                                  true,
		"426 0x4 0x1 0x1 0x1 0x0 0x8 0x1 0x2\n":                                             true,
		"426 0x4 0x8 0x0 0x0 0x0 0x8 0x1 0x2\n":                                             false, // It submits, and doesn't wait.
	} {
		if got := waitsForAsync(text); got != want {
			t.Errorf("waitsForAsync(%q) = %v, want %v", text, got, want)
		}
	}
}

// TestDelays: the slowest thread's delay between two samples, never longer than the interval.
func TestDelays(t *testing.T) {
	const stat = "70 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 250 40\n"
	d, err := parseDelay(stat)
	if err != nil || d != 2500*time.Millisecond {
		t.Errorf("parseDelay = %v, %v", d, err)
	}
	for _, bad := range []string{"", "70 (a) S 1 2", "70 (a)"} {
		if _, err := parseDelay(bad); err == nil {
			t.Errorf("parseDelay(%q): no error", bad)
		}
	}
	before := map[int]time.Duration{1: time.Second, 2: time.Second}
	after := map[int]time.Duration{1: 1500 * time.Millisecond, 2: 1200 * time.Millisecond, 3: 700 * time.Millisecond}
	if got := delayOf(before, after, 1); got != 0.7 {
		t.Errorf("delayOf = %g, want 0.7", got)
	}
	if got := delayOf(before, after, 0.5); got != 0.5 {
		t.Errorf("delayOf = %g of 0.5 s", got)
	}
}

// TestSlept: only threads count that waited in both samples, and without the time that they ran.
func TestSlept(t *testing.T) {
	before := map[int]Thread{1: {Ran: time.Second}, 2: {Ran: 5 * time.Second}, 4: {Ran: time.Second, Loop: true}}
	after := map[int]Thread{1: {Ran: 1200 * time.Millisecond}, 3: {}, 4: {Ran: 1100 * time.Millisecond, Loop: true}}
	if got := slept(before, after, true, 1); got < 0.89 || got > 0.91 {
		t.Errorf("slept in a loop = %g, want 0.9", got)
	}
	if got := slept(before, after, false, 1); got < 0.79 || got > 0.81 {
		t.Errorf("slept = %g, want 0.8", got)
	}
	if got := slept(before, map[int]Thread{2: {Ran: time.Second}}, false, 1); got != 0 {
		t.Errorf("another thread has the number: %g", got)
	}
	for _, bad := range []string{"", "1", "x y z"} {
		if _, err := parseSchedstat(bad); err == nil {
			t.Errorf("parseSchedstat(%q): no error", bad)
		}
	}
}
