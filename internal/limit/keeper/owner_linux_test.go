package keeper

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/journaltest"
	"plimsoll/internal/text/refusal"
)

// TestRootGroupOwner: the keeper limits no device in the root group that is another's, and names the owner; when that has given it up, the keeper limits
// it, also after a restart, and is its owner until no rule wants that any more.
func TestRootGroupOwner(t *testing.T) {
	holder := holderFor(t)
	machine := t.TempDir()
	deviceLimits := holder.DeviceLimits(machine)
	b := newBench(t, Options{Holder: holder, DeviceLimits: deviceLimits}, strings.ReplaceAll(oneRule, "DISK}", "DISK, device_wide: true}"))
	group := disktest.NewBlkioGroup(t)
	t.Cleanup(func() {
		b.stop() // It looks once more at what it has written, and would write it again.
		rootPuts(t, b.number, 0)
	})
	root := func(want string) {
		t.Helper()
		eventually(t, fmt.Sprintf("the root group has %q", want), func() bool { return rate("", b.number) == want })
	}
	if err := setDeviceWide(t, holder, deviceLimits, group, b.disk, 6<<20); err != nil {
		t.Fatal(err)
	}
	b.k.Started(targetOf(b.group))
	eventually(t, "the owner is named", func() bool { return b.said("already has a limit in the root group, for cgroup:/" + base(group)) })
	root("6291456")
	if err := setDeviceWide(t, holder, deviceLimits, group, b.disk, 0); err != nil {
		t.Fatal(err)
	}
	// The next keeper asks again at once.
	b.stop()
	b.begin()
	b.k.Started(targetOf(b.group))
	root("1048576")
	refused := func(when string) {
		t.Helper()
		var taken *refusal.Error
		if err := setDeviceWide(t, holder, deviceLimits, group, b.disk, 6<<20); !errors.As(err, &taken) || !strings.Contains(err.Error(), "plimsoll daemon of "+b.opt.Run) {
			t.Errorf("%s: limit set = %v, want it refused with the daemon's folder", when, err)
		}
		root("1048576")
	}
	refused("beside the keeper")
	b.stop()
	refused("after its end")
	b.begin()
	b.k.Started(targetOf(b.group))
	eventually(t, "the container is known", func() bool { return len(b.k.Status().Containers) == 1 })
	refused("beside the next keeper")
	b.write("rules: []\n")
	b.k.Reload()
	root("")
	eventually(t, "the device is nobody's", func() bool { return len(journaltest.Entries(t, machine)) == 0 })
}

// TestRootGroupBefore: what another program had set in the root group before the keeper, of which nothing is recorded, comes back with the keeper's end.
func TestRootGroupBefore(t *testing.T) {
	holder := holderFor(t)
	b := newBench(t, Options{Holder: holder, DeviceLimits: holder.DeviceLimits(t.TempDir())}, strings.ReplaceAll(oneRule, "DISK}", "DISK, device_wide: true}"))
	t.Cleanup(func() {
		b.stop()
		rootPuts(t, b.number, 0)
	})
	rootPuts(t, b.number, 5<<20)
	b.k.Started(targetOf(b.group))
	eventually(t, "the root group is held", func() bool { return rate("", b.number) == "1048576" })
	b.write("rules: []\n")
	b.k.Reload()
	eventually(t, "the root group has what it had", func() bool { return rate("", b.number) == "5242880" })
}

// rootPuts writes to the root group as somebody else would.
func rootPuts(t *testing.T, number string, bps int64) {
	t.Helper()
	if err := disktest.Group("/sys/fs/cgroup/blkio").Put("blkio.throttle.write_bps_device", fmt.Sprint(number, " ", bps)); err != nil {
		t.Error(err)
	}
}

// setDeviceWide is plimsoll limit set cgroup:GROUP --device DISK --device-wide, and limit clear for 0.
func setDeviceWide(t *testing.T, h *hold.Holder, deviceLimits *hold.DeviceLimits, group disktest.Group, disk string, bps int64) error {
	t.Helper()
	r, err := target.Parse("cgroup:/" + base(group))
	if err != nil {
		t.Fatal(err)
	}
	c := limit.Change{Set: limit.Limits{WriteBPS: bps}}
	if bps == 0 {
		c = limit.Clear()
	}
	s, err := h.Scope(t.Context(), r, hold.Where{Device: disk, DeviceWide: bps > 0}, true)
	if err != nil {
		t.Fatal(err)
	}
	_, err = deviceLimits.Change(t.Context(), s, c, false, func() ([]hold.Done, error) { return h.Apply(t.Context(), s, c) })
	return err
}
