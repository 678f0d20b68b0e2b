package hold

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/journaltest"
	"plimsoll/internal/text/refusal"
)

// TestOneOwner: a device has one owner in the root group. Another one is refused with its name until it gives the limit up.
func TestOneOwner(t *testing.T) {
	disktest.NewBlkioGroup(t) // Or there is no root group with limits.
	loop := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	h := holder(t)
	machine := t.TempDir()
	w := h.DeviceLimits(machine)
	one, forOne := deviceLimitSetter(t, h, w, loop)
	other, _ := trySetter(t, h, w, loop)
	s, err := h.Scope(t.Context(), ref(t, disktest.NewBlkioGroup(t)), Where{Device: loop}, true)
	if err != nil {
		t.Fatal(err)
	}
	d := s.Devices()[0]
	run := func() (DeviceLimit, error) {
		return w.Hold(t.Context(), "plimsoll run (r1)", d, limit.Limits{WriteBPS: 2 << 20})
	}
	daemon := func() error {
		return takes(t.Context(), w, "/run/x", d, limit.Limits{WriteBPS: 1 << 20})
	}
	refused := func(when string, err error, owner string) {
		t.Helper()
		var taken *refusal.Error
		if !errors.As(err, &taken) || taken.Fix == "" || !strings.Contains(err.Error(), "for "+owner+" (") {
			t.Errorf("%s: %v, want a refusal with the owner %s", when, err, owner)
		}
	}
	has := func(when, want string) {
		t.Helper()
		if got := deviceLimitOf(t, loop, "write_bps"); got != want {
			t.Errorf("%s: the root group has %q, want %q", when, got, want)
		}
	}
	clear := func() {
		t.Helper()
		all, err := w.List()
		if err == nil {
			_, err = w.Clear(t.Context(), all, nil, false, nil)
		}
		if err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(clear)

	one(limit.Limits{WriteBPS: 6 << 20})
	one(limit.Limits{ReadBPS: 7 << 20}) // Beside it.
	_, err = other(limit.Limits{WriteBPS: 3 << 20})
	refused("another target", err, forOne)
	_, err = run()
	refused("a run", err, forOne)
	refused("a daemon", daemon(), forOne)
	has("a target's", "6291456")
	if got := deviceLimitOf(t, loop, "read_bps"); got != "7340032" {
		t.Errorf("a target's second: the root group has %q", got)
	}
	clear()
	has("cleared", "")
	if got := deviceLimitOf(t, loop, "read_bps"); got != "" {
		t.Errorf("cleared: the root group has %q for reads", got)
	}

	mine, err := run()
	if err != nil {
		t.Fatal(err)
	}
	has("a run's", "2097152")
	_, err = other(limit.Limits{WriteBPS: 3 << 20})
	refused("a target beside a run", err, "plimsoll run (r1)")
	refused("a daemon beside a run", daemon(), "plimsoll run (r1)")
	clear() // What runs has it until its end.
	has("a run's, cleared", "2097152")
	if err := w.Release(t.Context(), mine); err != nil {
		t.Error(err)
	}
	has("a run's, released", "")

	if err := errors.Join(daemon(), daemon()); err != nil {
		t.Fatal(err)
	}
	_, err = other(limit.Limits{WriteBPS: 3 << 20})
	refused("a target beside a daemon", err, "plimsoll daemon of /run/x")
	_, err = run()
	refused("a run beside a daemon", err, "plimsoll daemon of /run/x")
	if err := recordAs(t.Context(), w, "/run/x"); err != nil {
		t.Error(err)
	}
	one(limit.Limits{WriteBPS: 6 << 20})
	clear()
	if left := journaltest.Left(t, machine); len(left) > 0 {
		t.Errorf("left in the journal: %v", left)
	}
}

// TestKilledBetween: a process that is killed after it has recorded another value, and before it writes it, leaves the
// earlier value in the kernel. That still counts as Plimsoll's.
func TestKilledBetween(t *testing.T) {
	disktest.NewBlkioGroup(t)
	loop := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	h := holder(t)
	machine := t.TempDir()
	w := h.DeviceLimits(machine)
	group := disktest.NewBlkioGroup(t)
	scope := func(deviceWide bool) *Scope {
		t.Helper()
		s, err := h.Scope(t.Context(), ref(t, group), Where{Device: loop, DeviceWide: deviceWide}, true)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	entry := filepath.Join(machine, "journal", deviceLimitKind, url.PathEscape(disktest.Number(t, loop))+".json")
	// set changes the limit; with apply not called it is killed before it writes.
	set := func(bps int64, killed bool) (noted []byte) {
		t.Helper()
		s, c := scope(true), limit.Change{Set: limit.Limits{WriteBPS: bps}}
		_, err := w.Change(t.Context(), s, c, false, func() ([]Done, error) {
			var err error
			if noted, err = os.ReadFile(entry); err != nil {
				t.Error(err)
			}
			return h.Apply(t.Context(), s, c)
		})
		if err != nil {
			t.Fatal(err)
		}
		if killed {
			if err := os.WriteFile(entry, noted, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return noted
	}
	clear := func() {
		t.Helper()
		s, c := scope(false), limit.Clear()
		if _, err := w.Change(t.Context(), s, c, false, func() ([]Done, error) { return h.Apply(t.Context(), s, c) }); err != nil {
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
	if got := deviceLimitOf(t, loop, "write_bps"); got != "" {
		t.Errorf("killed before the second value: after clear the root group has %q", got)
	}
	// Twice in a row.
	set(5<<20, false)
	set(9<<20, true)
	put("5242880")
	set(7<<20, true)
	put("5242880")
	clear()
	if got := deviceLimitOf(t, loop, "write_bps"); got != "" {
		t.Errorf("killed twice: after clear the root group has %q", got)
	}
	// Where nobody was killed, another's value is another's.
	set(5<<20, false)
	set(9<<20, false)
	put("5242880")
	clear()
	if got := deviceLimitOf(t, loop, "write_bps"); got != "5242880" {
		t.Errorf("another program's 5 MiB was removed: %q", got)
	}
	put("0")
}

// TestForeignLimitInRootGroup: a set that replaces an unrecorded limit in the root group says so. One that replaces its
// own limit says nothing.
func TestForeignLimitInRootGroup(t *testing.T) {
	disktest.NewBlkioGroup(t)
	loop := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	h := holder(t)
	w := h.DeviceLimits(t.TempDir())
	set, _ := deviceLimitSetter(t, h, w, loop)
	t.Cleanup(func() {
		list, err := w.List()
		if err == nil {
			_, err = w.Clear(t.Context(), list, nil, false, nil)
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
