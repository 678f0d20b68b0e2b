package judge

import (
	"testing"
	"time"

	"plimsoll/internal/limit"
)

// TestJudge: slices are no part of the tolerance, and other programs are not blamed for them.
func TestJudge(t *testing.T) {
	seen := func(rate float64, d time.Duration) Evidence {
		return Evidence{Asked: 100, Least: rate, Most: rate, Window: d}
	}
	slope := func(rate float64, d time.Duration) Evidence {
		e := seen(rate, d)
		e.Steady = true
		return e
	}
	shared := seen(100, 4*time.Second)
	shared.Most = 300
	helped := seen(50, 4*time.Second)
	helped.Most, helped.Reached = 100, 50
	uneven := seen(98, 4*time.Second)
	uneven.Most, uneven.Unsure = 115, Uneven
	doubtful, passed := seen(100, 4*time.Second), seen(130, 4*time.Second)
	doubtful.Doubt, passed.Doubt = Changed, Changed
	added := seen(70, 4*time.Second)
	added.Reached = 100
	inFlight := seen(115, 10*time.Second)
	inFlight.InFlight = 120
	for _, x := range []struct {
		name    string
		seen    Evidence
		verdict Verdict
		cause   Cause
	}{
		{"at the limit", seen(100, 4*time.Second), Held, ""},
		{"5 % above", seen(105, 4*time.Second), Held, ""},
		{"5 % below", seen(95, 4*time.Second), Held, ""},
		{"more than the tolerance, and no more than the slices", seen(106, 4*time.Second), Unproved, TooShort},
		{"more than both", seen(111, 4*time.Second), NotHeld, ""},
		{"a long window has no excuse", seen(107, 20*time.Second), NotHeld, ""},
		{"nor has a long slope", slope(107, 20*time.Second), NotHeld, ""},
		{"a slope with one slice that came late", slope(109, 4*time.Second), Unproved, TooShort},
		{"a slope with more", slope(111, 4*time.Second), NotHeld, ""},
		{"what is in flight", inFlight, Unproved, TooShort},
		{"a fifth above in a second", seen(122, time.Second), Unproved, TooShort},
		{"a half above in two slices", seen(148, 200*time.Millisecond), Unproved, TooShort},
		{"at the limit in two slices", seen(100, 200*time.Millisecond), Unproved, TooShort},
		{"far above in two slices", seen(1000, 200*time.Millisecond), NotHeld, ""},
		{"below", seen(94, 4*time.Second), Unproved, Slower},
		{"others used the device", shared, Unproved, Shared},
		{"others make up for what lacks", helped, Unproved, Shared},
		{"the steady part alone is above it", uneven, Unproved, Uneven},
		{"at the limit, and the limit was changed", doubtful, Unproved, Changed},
		{"far above, and the limit was changed", passed, NotHeld, ""},
		{"with the file system's own writes", added, Held, ""},
	} {
		if v, c := x.seen.Verdict(); v != x.verdict || c != x.cause {
			t.Errorf("%s: %s, %q; want %s, %q", x.name, v, c, x.verdict, x.cause)
		}
	}
	if d := seen(100, time.Second).Enough(); d != 4*time.Second {
		t.Errorf("a window of %v is enough, want 4 s: two slices are 5 %% of that", d)
	}
}

// TestFinding: what is said of a limit.
func TestFinding(t *testing.T) {
	const mib = 1 << 20
	for _, x := range []struct {
		seen  float64
		more  Evidence
		key   limit.Key
		at    Place
		with  string
		words string
	}{
		{10 * mib, Evidence{Window: 5 * time.Second}, limit.WriteBPS, Application, "", "held: asked 10 MiB/s, saw 10 MiB/s (+0.0 %)"},
		{10.4 * mib, Evidence{Window: 5 * time.Second}, limit.WriteBPS, ThisDevice, "with the 2 MiB/s that the target itself used", "held: asked 10 MiB/s, saw 10.4 MiB/s at this device (+4.0 %), with the 2 MiB/s that the target itself used"},
		{7 * mib, Evidence{Window: 5 * time.Second, Reached: 10 * mib}, limit.WriteBPS, "", "", "held: asked 10 MiB/s, saw 7 MiB/s (-30.0 %); with the file system's own writes it is 10 MiB/s"},
		{1638.4 * mib, Evidence{Window: 5 * time.Second}, limit.WriteBPS, Device, "", "limit NOT held: asked 10 MiB/s, saw 1.6 GiB/s at the device (164 times)"},
		{13 * mib, Evidence{Window: 5 * time.Second}, limit.ReadBPS, "", "", "limit NOT held: asked 10 MiB/s, saw 13 MiB/s (+30.0 %)"},
		{20000 * mib, Evidence{Window: 5 * time.Second}, limit.ReadBPS, "", "", "limit NOT held: asked 10 MiB/s, saw 19.5 GiB/s (2000 times)"},
		{5 * mib, Evidence{Window: 5 * time.Second}, limit.WriteBPS, "", "", "unproved: asked 10 MiB/s, saw 5 MiB/s (-50.0 %); something else was slower than the limit"},
		{10.8 * mib, Evidence{Window: 4 * time.Second}, limit.WriteBPS, "", "", "unproved: asked 10 MiB/s, saw 10.8 MiB/s (+8.0 %); too short: in 4 s up to 5 % more than the limit can come through; 8 s would tell"},
		{10 * mib, Evidence{Window: 5 * time.Second, Doubt: Missed, Arrived: mib}, limit.WriteBPS, "", "", "unproved: asked 10 MiB/s, saw 10 MiB/s (+0.0 %); at most 1 MiB/s of it reached the device: the rest went elsewhere, or the device does not count it"},
		{-1, Evidence{Window: 5 * time.Second}, limit.WriteBPS, "", "", "unproved: asked 10 MiB/s; the device's counters could not be read"},
		{0.25 * mib, Evidence{Asked: 0.5 * mib, Window: 5 * time.Second}, limit.WriteIOPS, "", "", "unproved: asked 524 k IOPS, saw 262 k IOPS (-50.0 %); something else was slower than the limit"},
		{0.25, Evidence{Asked: 0.25, Window: 5 * time.Second}, limit.CPUs, "", "", "held: asked 0.25 CPUs, saw 0.25 CPUs (+0.0 %)"},
	} {
		e := x.more
		if e.Least, e.Most = x.seen, x.seen; e.Asked == 0 {
			e.Asked = 10 * mib
		}
		f := e.Of(x.key)
		if f.At, f.With = x.at, x.with; f.String() != x.words {
			t.Errorf("%s, want %s", f, x.words)
		}
	}
}

// TestOver: one trial that passed a limit decides; else what most of them show.
func TestOver(t *testing.T) {
	held, short, slow, not := Finding{Verdict: Held}, Finding{Verdict: Unproved, Cause: TooShort}, Finding{Verdict: Unproved, Cause: Slower}, Finding{Verdict: NotHeld}
	for _, x := range []struct {
		all  []Finding
		want Finding
	}{
		{[]Finding{held, held, not}, not},
		{[]Finding{held, short, held}, held},
		{[]Finding{held, short}, short},
		{[]Finding{short, slow, slow, held}, slow},
		{[]Finding{slow, short}, slow},
	} {
		if got := Over(x.all); got != x.want {
			t.Errorf("%v: %s, %q; want %s, %q", x.all, got.Verdict, got.Cause, x.want.Verdict, x.want.Cause)
		}
	}
}
