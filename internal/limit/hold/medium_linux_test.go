package hold

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/journaltest"
)

// deviceLimitOf is the root group's rate of a kind for a device, "" if it has none.
func deviceLimitOf(t *testing.T, loop, key string) string {
	t.Helper()
	b, err := os.ReadFile("/sys/fs/cgroup/blkio/blkio.throttle." + key + "_device")
	if err != nil {
		t.Fatal(err)
	}
	number := disktest.Number(t, loop) + " "
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, number); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// deviceLimitSetter returns what sets limits of a new group and of the root group for a device, and for whom that is.
func deviceLimitSetter(t *testing.T, h *Holder, w *DeviceLimits, loop string) (set func(limit.Limits) (told string), owner string) {
	t.Helper()
	try, owner := trySetter(t, h, w, loop)
	return func(l limit.Limits) string {
		t.Helper()
		told, err := try(l)
		if err != nil {
			t.Fatal(err)
		}
		return told
	}, owner
}

// trySetter is deviceLimitSetter where that may be refused.
func trySetter(t *testing.T, h *Holder, w *DeviceLimits, loop string) (set func(limit.Limits) (told string, err error), owner string) {
	t.Helper()
	group := disktest.NewBlkioGroup(t)
	scope := func() *Scope {
		t.Helper()
		s, err := h.Scope(t.Context(), ref(t, group), Where{Device: loop, DeviceWide: true}, true)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	return func(l limit.Limits) (string, error) {
		t.Helper()
		s, c := scope(), limit.Change{Set: l}
		done, err := w.Change(t.Context(), s, c, false, func() ([]Done, error) { return h.Apply(t.Context(), s, c) })
		var told []string
		for _, d := range done {
			told = append(told, d.Notes...)
		}
		return strings.Join(told, "\n"), err
	}, scope().Owner()
}

// TestNumberReused: what was set in the root group for a device is not set for the next one of its number. What the kernel still has
// of it is known, and can be cleared.
func TestNumberReused(t *testing.T) {
	disktest.NewBlkioGroup(t) // Or there is no root group with limits.
	one, other := disktest.Image(t, 16<<20), disktest.Image(t, 16<<20)
	loop := disktest.Loop(t, one, false, other)
	h := holder(t)
	machine := t.TempDir()
	w := h.DeviceLimits(machine)
	a, forA := deviceLimitSetter(t, h, w, loop)
	b, forB := deviceLimitSetter(t, h, w, loop)
	clear := func(owner string) {
		t.Helper()
		all, err := w.List()
		if err != nil {
			t.Fatal(err)
		}
		var list []DeviceLimit
		for _, n := range all {
			if owner == "" || n.For == owner {
				list = append(list, n)
			}
		}
		if _, err := w.Clear(t.Context(), list, nil, false, nil); err != nil {
			t.Fatal(err)
		}
	}
	// Also where the test ends early, before the loop device goes.
	t.Cleanup(func() { clear("") })
	has := func(when, bps, iops string) {
		t.Helper()
		if x, y := deviceLimitOf(t, loop, "write_bps"), deviceLimitOf(t, loop, "write_iops"); x != bps || y != iops {
			t.Errorf("%s: the root group has %q and %q, want %q and %q", when, x, y, bps, iops)
		}
	}
	type record struct {
		For    string
		Former bool
	}
	recorded := func(when string, want record) {
		t.Helper()
		all, err := w.List()
		if err != nil || len(all) != 1 {
			t.Errorf("%s: List() = %+v, %v; want one", when, all, err)
		} else if got := (record{all[0].For, all[0].Former}); got != want {
			t.Errorf("%s: List() has %+v, want %+v", when, got, want)
		}
	}

	a(limit.Limits{WriteBPS: 6 << 20, WriteIOPS: 50})
	has("set", "6291456", "50")
	disktest.Reattach(t, loop, other)
	recorded("another device", record{For: forA, Former: true})
	// Who limits the next device removes what the last one's has left.
	b(limit.Limits{WriteBPS: 3 << 20})
	has("the next one's", "3145728", "")
	clear(forA)
	has("the next one's, and the last one's cleared", "3145728", "")
	clear(forB)
	has("both cleared", "", "")

	// It is set for the next one though it is the same.
	a(limit.Limits{WriteBPS: 6 << 20})
	disktest.Reattach(t, loop, one)
	b(limit.Limits{WriteBPS: 6 << 20})
	clear(forA)
	has("the same", "6291456", "")
	clear(forB)
	has("the same, cleared", "", "")

	// The device that comes back is the one that it was.
	a(limit.Limits{WriteBPS: 6 << 20})
	disktest.Reattach(t, loop, other)
	recorded("the other device", record{For: forA, Former: true})
	disktest.Reattach(t, loop, one)
	recorded("the device that came back", record{For: forA})
	clear("")
	has("all cleared", "", "")
	if left := journaltest.Left(t, machine); len(left) > 0 {
		t.Errorf("left in the journal: %v", left)
	}
}

// TestWeightsOfAnother: what has got a disk's number is not given that disk's scheduler, and a disk that has gone is no error.
func TestWeightsOfAnother(t *testing.T) {
	group := disktest.NewBlkioGroup(t)
	memory := disktest.Tmpfs(t, "")
	images := []string{filepath.Join(memory, "one"), filepath.Join(memory, "other")}
	for _, i := range images {
		if err := errors.Join(os.WriteFile(i, nil, 0o600), os.Truncate(i, 16<<20)); err != nil {
			t.Fatal(err)
		}
	}
	loop := disktest.Loop(t, images[0], false, images[1])
	disktest.KeepScheduler(t, loop)
	h := holder(t)
	machine := t.TempDir()
	w := h.Weights(machine)
	s := loopScope(t, h, group, loop)
	if on, _, err := w.Enable(t.Context(), s, "bfq"); err != nil || len(on) != 1 || on[0].Identity == "" {
		t.Fatalf("Enable() = %+v, %v", on, err)
	}
	disktest.Reattach(t, loop, images[1])
	disktest.Schedule(t, loop, "bfq")
	undo := func(when string) {
		t.Helper()
		if off, err := w.Undo(t.Context(), s); err != nil || len(off) > 0 || disktest.Scheduler(t, loop) != "bfq" {
			t.Errorf("%s: Undo() = %+v, %v; the next has %s", when, off, err, disktest.Scheduler(t, loop))
		}
		if left := journaltest.Entries(t, machine); len(left) > 0 {
			t.Errorf("%s: left in the journal: %v", when, left)
		}
	}
	undo("another device")
	d := s.Weights()[0]
	unknown := Enabled{Disk: "gone", Number: d.Number, By: "bfq", Users: []string{string(group)}, Boot: w.Boot,
		Edits: []cgroup.Edit{{File: "/sys/block/plimsoll-no-such/queue/scheduler", Text: []string{"bfq"}, Was: []string{"none"}}}}
	if err := w.records.keep(t.Context(), unknown); err != nil {
		t.Fatal(err)
	}
	undo("a disk of which nothing but the number is known")
}

// TestMedium: two are one device by what is known of both.
func TestMedium(t *testing.T) {
	for _, tt := range []struct {
		a, b Medium
		want bool
	}{
		{Medium{"file a", "7"}, Medium{"file a", "7"}, true},
		{Medium{"file a", "7"}, Medium{"file a", "9"}, true},           // It came back.
		{Medium{"file a", "7"}, Medium{"boot x diskseq 7", "7"}, true}, // Its file got another name.
		{Medium{"file a", "7"}, Medium{"file b", "8"}, false},
		{Medium{"file a", ""}, Medium{"file b", ""}, false},
		{Medium{}, Medium{"file b", "8"}, true}, // Nothing is known of the first.
		{Medium{"file a", ""}, Medium{"", "8"}, true},
	} {
		if got := tt.a.is(tt.b); got != tt.want {
			t.Errorf("%+v is %+v: %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}
