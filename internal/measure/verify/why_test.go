package verify

import (
	"errors"
	"strings"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/text/refusal"
)

// TestWholeMachineNamesRootOnce: what else is on the device of / is named, and / itself once.
func TestWholeMachineNamesRootOnce(t *testing.T) {
	for _, c := range []struct {
		others []string
		want   string
	}{
		{[]string{"/"}, "vda is the device of /: a limit"},
		{[]string{"/", "/srv"}, "vda is the device of / and of /srv: a limit"},
	} {
		if got := wholeMachine("vda", c.others); !strings.HasPrefix(got, c.want) {
			t.Errorf("wholeMachine(%q) = %q, want %q", c.others, got, c.want)
		}
	}
}

// TestLowest: a limit of a group above counts where it is lower than the group's own; one that is higher changes nothing.
func TestLowest(t *testing.T) {
	d := device.Number{Major: 7}
	above := func(n int64) []cgroup.State {
		return []cgroup.State{{Devices: map[device.Number]limit.Limits{d: {WriteBPS: n}}}, {Devices: map[device.Number]limit.Limits{d: {WriteBPS: 100}}}}
	}
	for n, want := range map[int64]int64{0: 8, 5: 5, 8: 8, 9: 8, 200: 8} {
		if got := lowest(limit.Limits{WriteBPS: 8}, above(n), d)[limit.WriteBPS]; got != want {
			t.Errorf("8 below %d: %d, want %d", n, got, want)
		}
	}
}

// TestVerifyRoom: verify refuses a file of more than half of the free space, and the error has both figures.
func TestVerifyRoom(t *testing.T) {
	const mib = 1 << 20
	if err := enough("/data", 484*mib, 242*mib); err != nil {
		t.Error(err)
	}
	err := enough("/data", 433*mib, 242*mib)
	var impossible *refusal.Error
	if !errors.As(err, &impossible) || !strings.Contains(err.Error(), "takes 242 MiB, and twice that must be free, because others go on writing: 433 MiB are") {
		t.Errorf("enough() = %v", err)
	}
}

// TestVerifyReason: a limit that is not held comes with the reason, and with what mends it.
func TestVerifyReason(t *testing.T) {
	var sheet golden.Sheet
	const mib = 1 << 20
	v1 := &explain.Explanation{Modes: []explain.Mode{
		{Name: explain.Read, Group: explain.Covered}, {Name: explain.Direct, Group: explain.Covered}, {Name: explain.BufferedSync, Group: explain.Covered, Why: "by the fsync"},
		{Name: explain.Buffered, Group: explain.Leaks, Device: explain.Covered, Why: "the flusher"},
	}}
	v2 := &explain.Explanation{Modes: []explain.Mode{{Name: explain.Direct, Group: explain.Covered}, {Name: explain.Buffered, Group: explain.Leaks, Why: "btrfs compresses"}}}
	for _, tt := range []struct {
		name        string
		on          *explain.Explanation
		group, root limit.Limits
		key         limit.Key
		mode        row.Mode
	}{
		{"it isn't set", v1, limit.Limits{}, limit.Limits{}, limit.WriteBPS, row.Direct},
		{"it is set to more", v1, limit.Limits{WriteBPS: 10 * mib}, limit.Limits{}, limit.WriteBPS, row.Direct},
		{"reads", v1, limit.Limits{}, limit.Limits{}, limit.ReadIOPS, row.Buffered},
		{"the flusher", v1, limit.Limits{WriteBPS: 5 * mib}, limit.Limits{}, limit.WriteBPS, row.Buffered},
		{"the flusher's is wider", v1, limit.Limits{WriteBPS: 5 * mib}, limit.Limits{WriteBPS: 6 * mib}, limit.WriteBPS, row.Buffered},
		{"the flusher's number", v1, limit.Limits{WriteIOPS: 200}, limit.Limits{}, limit.WriteIOPS, row.Buffered},
		{"before the sync", v1, limit.Limits{WriteIOPS: 200}, limit.Limits{}, limit.WriteIOPS, row.BufferedSync},
		{"a sync without a limit", v1, limit.Limits{}, limit.Limits{}, limit.WriteIOPS, row.BufferedSync},
		{"nothing holds it", v2, limit.Limits{WriteBPS: 5 * mib}, limit.Limits{}, limit.WriteBPS, row.Buffered},
		{"nobody knows", v1, limit.Limits{WriteBPS: 5 * mib}, limit.Limits{}, limit.WriteBPS, row.Direct},
	} {
		v := subject{
			groupSet: hold.GroupSet{Name: "container web"}, place: hold.Place{Explanation: tt.on}, spot: explain.Spot{Name: "loop1"},
			asked:   map[limit.Key]int64{limit.WriteBPS: 5 * mib, limit.ReadIOPS: 300, limit.WriteIOPS: 200},
			inGroup: tt.group, inRoot: tt.root, Words: Words{Again: "web --path '/a b'"},
		}
		rows := []row.Row{{Finding: judge.Finding{Key: tt.key, Verdict: judge.NotHeld}, Mode: tt.mode}, {Finding: judge.Finding{Key: tt.key, Verdict: judge.Held}, Mode: tt.mode}}
		v.explain(rows)
		sheet.Add(tt.name, strings.TrimSuffix("why: "+rows[0].Why+"\nfix: "+rows[0].Fix, "\nfix: "))
		if rows[1].Why != "" || rows[1].Fix != "" {
			t.Errorf("%s: a row that is held has a reason: %+v", tt.name, rows[1])
		}
	}
	sheet.Check(t, "why.txt")
}

// TestVerifyReasonChanged: a limit that another program removed is not held for that, and the command shows what is there now.
func TestVerifyReasonChanged(t *testing.T) {
	v := subject{asked: map[limit.Key]int64{limit.WriteBPS: 5 << 20}, Words: Words{Target: "web", Again: "web --path /b", Flags: " --state /s"}}
	rows := []row.Row{{Finding: judge.Finding{Key: limit.WriteBPS, Verdict: judge.NotHeld}, Mode: row.Direct, Changed: []int64{0}}}
	v.explain(rows)
	if want := "another program changed the limit while it was measured, to none"; rows[0].Why != want {
		t.Errorf("why: %q, want %q", rows[0].Why, want)
	}
	if want := "plimsoll limit show web --state /s prints the present limits; "; !strings.HasPrefix(rows[0].Fix, want) {
		t.Errorf("fix: %q, want %q first", rows[0].Fix, want)
	}
}
