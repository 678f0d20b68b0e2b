package disktest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// A VolumeGroup is a volume group of LVM for the test, made and changed by LVM's own programs.
type VolumeGroup struct {
	name, config string
}

// LVM makes a volume group of devices, and removes it with all of its volumes at the end of the test. LVM sees no other device.
func LVM(t testing.TB, devices ...string) VolumeGroup {
	t.Helper()
	needMapper(t)
	var filter strings.Builder
	for _, d := range devices {
		fmt.Fprintf(&filter, `"a|^%s$|",`, d)
	}
	g := VolumeGroup{
		name: fmt.Sprintf("plimsoll_test_%d_%d", os.Getpid(), mappers.Add(1)),
		// lvm.conf(5): LVM writes nothing to /etc, no daemon watches it, and the check of a thin pool's metadata, which is in
		// another package, is off.
		config: `devices { filter=[` + filter.String() + `"r|.*|"] use_devicesfile=0 obtain_device_list_from_udev=0 hints="none" } ` +
			`activation { monitoring=0 udev_sync=0 udev_rules=0 } backup { backup=0 archive=0 } ` +
			`global { use_lvmpolld=0 thin_check_executable="" event_activation=0 }`,
	}
	for _, d := range devices {
		g.lvm(t, "pvcreate", "--yes", d)
	}
	// A device is in one group at a time, and this group ends with its devices.
	g.lvm(t, "vgcreate", append([]string{g.name}, devices...)...)
	t.Cleanup(func() { g.lvm(t, "vgremove", "--force", "--yes", g.name) })
	return g
}

// lvm runs one of LVM's commands.
func (g VolumeGroup) lvm(t testing.TB, command string, args ...string) {
	t.Helper()
	withoutUdev(t, append([]string{"lvm", command, "--quiet", "--config", g.config}, args...)...)
}

// Create makes a volume with lvcreate's arguments, and returns the path that LVM gives it.
func (g VolumeGroup) Create(t testing.TB, volume string, args ...string) string {
	t.Helper()
	g.lvm(t, "lvcreate", append(append([]string{"--yes", "--name", volume}, args...), g.name)...)
	return "/dev/" + g.name + "/" + volume
}

// Snapshot makes a snapshot of one of the group's volumes, with space for changes of the size room, in lvcreate's format.
func (g VolumeGroup) Snapshot(t testing.TB, volume, of, room string) string {
	t.Helper()
	g.lvm(t, "lvcreate", "--yes", "--snapshot", "--size", room, "--name", volume, g.name+"/"+of)
	return "/dev/" + g.name + "/" + volume
}
