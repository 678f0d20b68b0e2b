package hold

import (
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/testkit/treetest"
)

// TestGone: limits of the root group whose device has gone are distinguished from those whose number belongs to another
// device now, in words and by the command that removes them. Both were described as the latter.
func TestGone(t *testing.T) {
	root := treetest.Make(t, map[string]string{
		"proc/self/mountinfo":                 "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:30 / ROOT/cg rw - cgroup cgroup rw,blkio\n",
		"proc/sys/kernel/random/boot_id":      "boot\n",
		"cg/cgroup.procs":                     "1\n",
		"cg/blkio.throttle.write_bps_device":  "7:3 6291456\n7:4 6291456\n",
		"cg/blkio.throttle.read_bps_device":   "",
		"cg/blkio.throttle.write_iops_device": "",
		"cg/blkio.throttle.read_iops_device":  "",
		"sys/dev/block/7:3/dev":               "7:3\n",
		"sys/dev/block/7:3/size":              "0\n",
		"sys/dev/block/7:3/diskseq":           "9\n",
		"sys/dev/block/7:4/dev":               "7:4\n",
		"sys/dev/block/7:4/size":              "2048\n",
		"sys/dev/block/7:4/diskseq":           "9\n",
	})
	fs := device.FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
	groups, err := cgroup.Open(fs)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(root, "state")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	w := newDeviceLimits(fs, groups, folder)
	note := func(minor uint32) DeviceLimit {
		return DeviceLimit{For: "volume:docker:data", Device: device.Number{Major: 7, Minor: minor}, Disk: "loop", Limits: limit.Limits{WriteBPS: 6 << 20}, Boot: "boot", Medium: Medium{Seq: "8"}}
	}
	if err := w.written(t.Context(), nil, []DeviceLimit{note(3), note(4)}); err != nil {
		t.Fatal(err)
	}
	all, err := w.List()
	if err != nil || len(all) != 2 {
		t.Fatalf("List() = %+v, %v", all, err)
	}
	if n := all[0]; !n.Former || !n.Gone || n.When() != "on a device that has gone" {
		t.Errorf("of one that has gone: %+v, %q", n, n.When())
	}
	if n := all[1]; !n.Former || n.Gone || n.When() != "when another device had that number" {
		t.Errorf("of another's number: %+v, %q", n, n.When())
	}
	const want = "the root group still has write_bps=6MiB on loop (7:3), set for volume:docker:data on a device that has gone; the next device with that number gets this limit; plimsoll limit clear volume:docker:data --state /x removes it"
	if got := all[0].Still(" --state /x"); got != want {
		t.Errorf("Still() = %q, want %q", got, want)
	}
	if n := note(3); n.When() != "" {
		t.Errorf("of one that is there: %q", n.When())
	}
}
