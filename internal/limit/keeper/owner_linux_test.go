package keeper

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/state/journal"
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

// TestRootGroupBefore: an unrecorded limit that another program had set in the root group before the keeper is restored
// when the keeper ends.
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

// TestRootRecordLost: the keeper records its limit in the root group again if a user removed the record or damaged it, and
// restores the limit that went with it. If the device has another owner by then, the keeper leaves it, and says so: the
// earlier value is not restored. It went on to hold the device, with two owners.
func TestRootRecordLost(t *testing.T) {
	holder := holderFor(t)
	machine := t.TempDir()
	deviceLimits := holder.DeviceLimits(machine)
	b := newBench(t, Options{Holder: holder, DeviceLimits: deviceLimits}, strings.ReplaceAll(oneRule, "DISK}", "DISK, device_wide: true}"))
	group := disktest.NewBlkioGroup(t)
	t.Cleanup(func() {
		b.stop()
		rootPuts(t, b.number, 0)
	})
	rootPuts(t, b.number, 5<<20)
	b.k.Started(targetOf(b.group))
	record := journal.In(machine).Path("device-limit", b.number)
	own := func(when string) {
		t.Helper()
		eventually(t, when+": the keeper's limit has a record", func() bool {
			all, err := deviceLimits.List()
			return err == nil && len(all) == 1 && all[0].OfDaemon(b.opt.Run) && rate("", b.number) == "1048576"
		})
	}
	own("at first")
	eventually(t, "the keeper is done with the root group", func() bool { return b.said("the root group: held to") })
	remove := func() {
		t.Helper()
		if err := os.Remove(record); err != nil {
			t.Fatal(err)
		}
	}
	remove()
	b.k.Check()
	own("removed")
	remove()
	rootPuts(t, b.number, 0)
	b.k.Check()
	own("removed with its limit")
	if err := os.WriteFile(record, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.k.Check()
	own("damaged")

	eventually(t, "another owner takes the device before the keeper has looked", func() bool {
		_ = os.Remove(record)
		return setDeviceWide(t, holder, deviceLimits, group, b.disk, 6<<20) == nil
	})
	b.k.Check()
	eventually(t, "the other owner is a fault of the root group", func() bool {
		s := b.k.Status().RootGroup
		return s != nil && len(s.Held) == 0 && len(s.Faults) == 1 && strings.Contains(s.Faults[0].Text, "for cgroup:/"+base(group))
	})
	if has := rate("", b.number); has != "6291456" || !b.said("the daemon leaves it") {
		t.Errorf("beside another owner the root group has %q, want that owner's", has)
	}
	b.write("rules: []\n")
	b.k.Reload()
	eventually(t, "the fault is gone", func() bool { return b.k.Status().RootGroup == nil })
	b.stop()
	if all, err := deviceLimits.List(); err != nil || len(all) != 1 || all[0].Daemon != "" {
		t.Errorf("after the keeper are recorded %+v, %v, want only the other owner's", all, err)
	}
	if has := rate("", b.number); has != "6291456" {
		t.Errorf("after the keeper the root group has %q", has)
	}
	if err := setDeviceWide(t, holder, deviceLimits, group, b.disk, 0); err != nil {
		t.Error(err)
	}
}

// TestTakenInPart: if another owner takes a device for one key, the keeper removes its limits of other keys there. They stayed, without
// a record, and the next owner took them for a user's own.
func TestTakenInPart(t *testing.T) {
	holder := holderFor(t)
	machine := t.TempDir()
	deviceLimits := holder.DeviceLimits(machine)
	b := newBench(t, Options{Holder: holder, DeviceLimits: deviceLimits},
		strings.NewReplacer("DISK}", "DISK, device_wide: true}", "1MiB", "1MiB, read_iops: 100").Replace(oneRule))
	group := disktest.NewBlkioGroup(t)
	t.Cleanup(func() {
		b.stop()
		rootClears(t, b.number)
	})
	b.k.Started(targetOf(b.group))
	eventually(t, "the keeper is done with the root group", func() bool { return b.said("the root group: held to") })
	eventually(t, "another owner takes the device before the keeper has looked", func() bool {
		_ = os.Remove(journal.In(machine).Path("device-limit", b.number))
		return setDeviceWide(t, holder, deviceLimits, group, b.disk, 6<<20) == nil
	})
	b.k.Check()
	eventually(t, "the other key has no limit", func() bool { return throttle("", "read_iops", b.number) == "" })
	eventually(t, "the other owner is a fault of the root group", func() bool {
		s := b.k.Status().RootGroup
		return s != nil && len(s.Held) == 0 && len(s.Faults) == 1
	})
	b.k.Check()
	if has := rate("", b.number); has != "6291456" || throttle("", "read_iops", b.number) != "" || b.k.Status().Drift != 0 {
		t.Errorf("beside another owner the root group has write_bps %q and read_iops %q", has, throttle("", "read_iops", b.number))
	}
	if err := setDeviceWide(t, holder, deviceLimits, group, b.disk, 0); err != nil {
		t.Error(err)
	}
}

// rootPuts writes to the root group as another program would.
func rootPuts(t *testing.T, number string, bps int64) {
	t.Helper()
	if err := disktest.Group("/sys/fs/cgroup/blkio").Put("blkio.throttle.write_bps_device", fmt.Sprint(number, " ", bps)); err != nil {
		t.Error(err)
	}
}

// rootClears removes a device's limits on bytes written and on reads from the root group.
func rootClears(t *testing.T, number string) {
	t.Helper()
	rootPuts(t, number, 0)
	if err := disktest.Group("/sys/fs/cgroup/blkio").Put("blkio.throttle.read_iops_device", number+" 0"); err != nil {
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
