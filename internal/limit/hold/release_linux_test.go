package hold

import (
	"os"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/testkit/disktest"
)

// TestClearedTogether: of limits in the root group that are cleared together none comes back for another, whichever of a disk's
// they are; one that stays does.
func TestClearedTogether(t *testing.T) {
	disktest.NewBlkioGroup(t) // Or there is no root group with limits.
	loop := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	h := holder(t)
	w := h.Wides(t.TempDir())
	var owners []string
	var sets []func(limit.Limits) string
	for range 3 {
		set, owner := wideSetter(t, h, w, loop)
		owners, sets = append(owners, owner), append(sets, set)
	}
	clear := func(which ...int) (told string) {
		t.Helper()
		list, err := w.List()
		if err != nil {
			t.Fatal(err)
		}
		list = slices.DeleteFunc(list, func(n Wide) bool { return !slices.Contains(which, slices.Index(owners, n.For)) })
		planned, err := w.Clear(t.Context(), list, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		done, err := w.Clear(t.Context(), list, nil, false)
		if err != nil || len(done) != len(planned) {
			t.Fatalf("Clear() = %+v, %v; planned %+v", done, err, planned)
		}
		for i, d := range done {
			if len(d.Diff.Edits) != len(planned[i].Diff.Edits) {
				t.Errorf("Clear() did %+v, and planned %+v", d.Diff.Edits, planned[i].Diff.Edits)
			}
			told += strings.Join(d.Notes, "\n")
		}
		return told
	}
	t.Cleanup(func() { clear(0, 1, 2) })
	for _, tt := range []struct {
		which []int
		want  string
	}{{[]int{0, 1, 2}, ""}, {[]int{0, 2}, "4000000"}, {[]int{1, 2}, "3000000"}, {[]int{0, 1}, "5000000"}, {[]int{2}, "4000000"}} {
		for i, set := range sets {
			set(limit.Limits{WriteBPS: int64(3+i) * 1000000})
		}
		told := clear(tt.which...)
		if strings.Contains(told, "another program") || len(tt.which) == 3 && told != "" {
			t.Errorf("%v cleared: told %q", tt.which, told)
		}
		if got := wideOf(t, loop, "write_bps"); got != tt.want {
			t.Errorf("%v cleared: the root group has %q, want %q; told %q", tt.which, got, tt.want, told)
		}
		clear(0, 1, 2)
		if got := wideOf(t, loop, "write_bps"); got != "" {
			t.Errorf("%v cleared, then all: the root group has %q", tt.which, got)
		}
	}
}

// TestNotedAndNotSet: a note whose limit was never set, as plimsoll was killed before it was, takes nothing away from the one that is in
// force, and neither is left when both go.
func TestNotedAndNotSet(t *testing.T) {
	disktest.NewBlkioGroup(t)
	loop := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	h := holder(t)
	w := h.Wides(t.TempDir())
	set, owner := wideSetter(t, h, w, loop)
	all := func() []Wide {
		t.Helper()
		list, err := w.List()
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	clear := func(list []Wide) {
		t.Helper()
		if _, err := w.Clear(t.Context(), list, nil, false); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() { clear(all()) })
	set(limit.Limits{WriteBPS: 6 << 20})
	other := all()[0]
	other.For, other.Limits = "cgroup:/plimsoll-killed", limit.Limits{WriteBPS: 3 << 20}
	if err := w.notes.write(append(all(), other)); err != nil {
		t.Fatal(err)
	}
	clear([]Wide{other})
	if got, left := wideOf(t, loop, "write_bps"), all(); got != "6291456" || len(left) != 1 || left[0].For != owner {
		t.Errorf("the one that was never set is cleared: the root group has %q, and noted is %+v", got, left)
	}
	if err := w.notes.write(append(all(), other)); err != nil {
		t.Fatal(err)
	}
	clear(all())
	if got := wideOf(t, loop, "write_bps"); got != "" || len(all()) > 0 {
		t.Errorf("both cleared: the root group has %q, and noted is %+v", got, all())
	}
}

// TestKilledBetween: one who is killed between noting another value and writing it leaves the one before, which is still its own.
func TestKilledBetween(t *testing.T) {
	disktest.NewBlkioGroup(t)
	loop := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	h := holder(t)
	w := h.Wides(t.TempDir())
	group := disktest.NewBlkioGroup(t)
	scope := func(wide bool) *Scope {
		t.Helper()
		s, err := h.Scope(t.Context(), ref(t, group), Where{Device: loop, DeviceWide: wide}, true)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	// set changes the limit; with apply not called it is killed before it writes.
	set := func(bps int64, killed bool) (noted []byte) {
		t.Helper()
		s, c := scope(true), limit.Change{Set: limit.Limits{WriteBPS: bps}}
		_, err := w.Around(t.Context(), s, c, false, func() ([]Done, error) {
			var err error
			if noted, err = os.ReadFile(w.notes.file); err != nil {
				t.Error(err)
			}
			return h.Apply(t.Context(), s, c)
		})
		if err != nil {
			t.Fatal(err)
		}
		if killed {
			if err := os.WriteFile(w.notes.file, noted, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return noted
	}
	clear := func() {
		t.Helper()
		s, c := scope(false), limit.Clear()
		if _, err := w.Around(t.Context(), s, c, false, func() ([]Done, error) { return h.Apply(t.Context(), s, c) }); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { clear() })
	put := func(value string) {
		t.Helper()
		if err := os.WriteFile("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device", []byte(disktest.Number(t, loop)+" "+value), 0); err != nil {
			t.Fatal(err)
		}
	}
	set(5<<20, false)
	set(9<<20, true)
	put("5242880") // As it was when it was killed.
	clear()
	if got := wideOf(t, loop, "write_bps"); got != "" {
		t.Errorf("killed before the second value: after clear the root group has %q", got)
	}
	// Twice in a row.
	set(5<<20, false)
	set(9<<20, true)
	put("5242880")
	set(7<<20, true)
	put("5242880")
	clear()
	if got := wideOf(t, loop, "write_bps"); got != "" {
		t.Errorf("killed twice: after clear the root group has %q", got)
	}
	// Where nobody was killed, another's value is another's.
	set(5<<20, false)
	set(9<<20, false)
	put("5242880")
	clear()
	if got := wideOf(t, loop, "write_bps"); got != "5242880" {
		t.Errorf("somebody's own 5 MiB was taken away: %q", got)
	}
	put("0")
}

// TestSomebodyElsesInRootGroup: who takes the place of a limit in the root group that nobody noted is told so, and nothing is
// said of one's own.
func TestSomebodyElsesInRootGroup(t *testing.T) {
	disktest.NewBlkioGroup(t)
	loop := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	h := holder(t)
	w := h.Wides(t.TempDir())
	set, _ := wideSetter(t, h, w, loop)
	t.Cleanup(func() {
		list, err := w.List()
		if err == nil {
			_, err = w.Clear(t.Context(), list, nil, false)
		}
		if err != nil {
			t.Error(err)
		}
	})
	somebody := func(rate string) {
		t.Helper()
		if err := os.WriteFile("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device", []byte(disktest.Number(t, loop)+" "+rate), 0); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { somebody("0") })
	for _, tt := range []struct {
		has  string
		told bool
	}{{"5000000", true}, {"", false}, {"2000000", true}, {"0", false}} {
		if tt.has != "" {
			somebody(tt.has)
		}
		if told := set(limit.Limits{WriteBPS: 6 << 20}); strings.Contains(told, "another program set") != tt.told {
			t.Errorf("with %q: told %q", tt.has, told)
		}
	}
}
