package show

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/testkit/treetest"
)

// TestDamaged: if a record of the root group can't be read, a target's own limits and those of all groups are shown, with a note, and so are a
// daemon's other limits. A target's were not shown, and in the list the daemon's limits became another program's.
func TestDamaged(t *testing.T) {
	root := treetest.Make(t, map[string]string{
		"proc/self/mountinfo":                     "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:30 / ROOT/cg rw - cgroup cgroup rw,blkio\n",
		"proc/sys/kernel/random/boot_id":          "boot\n",
		"sys/dev/block/254:0":                     "-> sys/devices/vda",
		"sys/devices/vda/dev":                     "254:0\n",
		"cg/cgroup.procs":                         "1\n",
		"cg/blkio.throttle.write_bps_device":      "254:0 6291456\n",
		"cg/shop/cgroup.procs":                    "",
		"cg/shop/blkio.throttle.write_bps_device": "254:0 1048576\n",
		"state/journal/device-limit/7:98.json":    "{",
	})
	machine := device.FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
	h, err := hold.New(machine, target.New(target.Options{Proc: machine.Proc}))
	if err != nil {
		t.Fatal(err)
	}
	r := &Reader{Holder: h, Machine: filepath.Join(root, "state"), Run: filepath.Join(root, "run"), Daemon: func() (*keeper.Status, error) { return nil, fs.ErrNotExist }}
	if err := h.DeviceLimits(r.Machine).AsDaemon(t.Context(), r.Run, func(d *hold.DaemonRecords) error {
		return d.Record([]hold.DeviceLimit{{
			Device: device.Number{Major: 254}, Disk: "vda", Limits: limit.Limits{WriteBPS: 6 << 20}, Rules: []hold.RuleLimit{{Key: limit.WriteBPS, Rule: "one"}},
		}})
	}); err != nil {
		t.Fatal(err)
	}
	const unknown = "limits in the root group are not known: "
	x, err := r.Target(t.Context(), target.Ref{Kind: target.Cgroup, Name: "/shop"}, false)
	if err != nil {
		t.Fatal(err)
	}
	if text := x.Text(); !strings.Contains(text, "write_bps=1MiB") || !strings.Contains(text, unknown) {
		t.Errorf("of the target is shown:\n%s", text)
	}
	if _, err := r.AllDeviceLimits(); err == nil || !strings.Contains(err.Error(), "7:98.json") {
		t.Errorf("AllDeviceLimits() = %v, want that the record can't be read", err)
	}
	list, err := r.List(t.Context())
	if err != nil || !slices.ContainsFunc(list.Notes, func(n string) bool { return strings.Contains(n, unknown) }) {
		t.Fatalf("List() = %+v, %v", list, err)
	}
	if !slices.ContainsFunc(list.Limited, func(l Limited) bool { return l.Group == "/" }) {
		t.Errorf("List() has no limit of the root group: %+v", list.Limited)
	}
	for _, l := range list.Limited {
		if l.Group == "/" && !strings.HasPrefix(l.By, "set for rule one of plimsoll daemon ") {
			t.Errorf("the root group's limit is %s's, want the daemon's", l.By)
		}
	}
}
