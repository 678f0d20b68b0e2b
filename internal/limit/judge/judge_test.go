package judge

import (
	"testing"
	"time"
)

// TestJudge: slices are no part of the tolerance, and other programs are not blamed for them.
func TestJudge(t *testing.T) {
	seen := func(rate float64, d time.Duration) Seen { return Seen{Asked: 100, Least: rate, Most: rate, Window: d} }
	steady := seen(107, 4*time.Second)
	steady.Steady = true
	shared := seen(100, 4*time.Second)
	shared.Most = 300
	helped := seen(50, 4*time.Second)
	helped.Most, helped.Reached = 100, 50
	added := seen(70, 4*time.Second)
	added.Reached = 100
	inFlight := seen(115, 10*time.Second)
	inFlight.InFlight = 120
	for _, x := range []struct {
		name    string
		seen    Seen
		verdict Verdict
		cause   Cause
	}{
		{"at the limit", seen(100, 4*time.Second), Held, ""},
		{"5 % above", seen(105, 4*time.Second), Held, ""},
		{"5 % below", seen(95, 4*time.Second), Held, ""},
		{"more than the tolerance, and no more than the slices", seen(106, 4*time.Second), Unproved, TooShort},
		{"more than both", seen(111, 4*time.Second), NotHeld, ""},
		{"a long window has no excuse", seen(107, 20*time.Second), NotHeld, ""},
		{"nor has a slope", steady, NotHeld, ""},
		{"what is in flight", inFlight, Unproved, TooShort},
		{"a fifth above in a second", seen(122, time.Second), Unproved, TooShort},
		{"a half above in two slices", seen(148, 200*time.Millisecond), Unproved, TooShort},
		{"at the limit in two slices", seen(100, 200*time.Millisecond), Unproved, TooShort},
		{"far above in two slices", seen(1000, 200*time.Millisecond), NotHeld, ""},
		{"below", seen(94, 4*time.Second), Unproved, Slower},
		{"others used the device", shared, Unproved, Shared},
		{"others make up for what lacks", helped, Unproved, Shared},
		{"with what the file system adds", added, Held, ""},
	} {
		if v, c := x.seen.Judge(); v != x.verdict || c != x.cause {
			t.Errorf("%s: %s, %q; want %s, %q", x.name, v, c, x.verdict, x.cause)
		}
	}
	if d := seen(100, time.Second).Enough(); d != 4*time.Second {
		t.Errorf("a window of %v is enough, want 4 s: two slices are 5 %% of that", d)
	}
}
