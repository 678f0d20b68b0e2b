package show

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/testkit/treetest"
)

// TestDamaged: if the daemon's record of the root group can't be read, a target's own limits and those of all groups are shown, with a note. A
// target's were not shown, and in the list the daemon's limits became another program's.
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
		"run/journal/root-limits/root.json":       "{",
	})
	machine := device.FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
	h, err := hold.New(machine, target.New(target.Options{Proc: machine.Proc}))
	if err != nil {
		t.Fatal(err)
	}
	r := &Reader{Holder: h, Machine: filepath.Join(root, "state"), Run: filepath.Join(root, "run"), Daemon: func() (*keeper.Status, error) { return nil, fs.ErrNotExist }}
	if err := os.Mkdir(r.Machine, 0o700); err != nil {
		t.Fatal(err)
	}
	vda := explain.Spot{Name: "vda", Major: 254}
	if err := h.DeviceLimits(r.Machine).Claim(t.Context(), r.Run, vda.Number(), vda.Name, limit.Limits{WriteBPS: 6 << 20}); err != nil {
		t.Fatal(err)
	}
	const unknown = "plimsoll daemon's limits on the root group are not known: "
	x, err := r.Target(t.Context(), target.Ref{Kind: target.Cgroup, Name: "/shop"}, false)
	if err != nil {
		t.Fatal(err)
	}
	if text := x.Text(); !strings.Contains(text, "write_bps=1MiB") || !strings.Contains(text, unknown) {
		t.Errorf("of the target is shown:\n%s", text)
	}
	if _, err := r.AllDeviceLimits(); err == nil || !strings.Contains(err.Error(), "root.json") {
		t.Errorf("AllDeviceLimits() = %v, want that the record can't be read", err)
	}
	list, err := r.List(t.Context())
	if err != nil || !slices.ContainsFunc(list.Notes, func(n string) bool { return strings.HasPrefix(n, unknown) }) {
		t.Fatalf("List() = %+v, %v", list, err)
	}
	if !slices.ContainsFunc(list.Limited, func(l Limited) bool { return l.Group == "/" }) {
		t.Errorf("List() has no limit of the root group: %+v", list.Limited)
	}
	for _, l := range list.Limited {
		if l.Group == "/" && !strings.HasPrefix(l.By, "set for plimsoll daemon of ") {
			t.Errorf("the root group's limit is %s's, want the daemon's", l.By)
		}
	}
}
