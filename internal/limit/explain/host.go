package explain

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/limit/weight"
)

// Values of Ability.Status.
const (
	OK  = "ok"
	Not = "no"
	// Almost: something is missing, and can be had.
	Almost = "partly"
)

// An Ability is something that the machine can do, or the reason why not and what would enable it.
type Ability struct {
	// Status is OK, Almost or Not.
	Status string `json:"status"`
	Why    string `json:"why,omitempty"`
	Fix    string `json:"fix,omitempty"`
}

// A Host is a machine's abilities to limit.
type Host struct {
	// IO and Memory are the versions of the two controllers: 1, 2, or 0 for none.
	IO     int `json:"io"`
	Memory int `json:"memory"`
	// ChargesV1 is set on kernels that charge buffered writes to their writer in version 1 too: those of Alibaba
	// Cloud Linux, booted with cgwb_v1.
	ChargesV1 bool `json:"charges_v1"`

	fs device.FS
	// root is the topmost group of the I/O controller that is visible, nil if there is none.
	root *hierarchy.Group
	// dir is the topmost group of the I/O controller.
	dir string
	// kernel is the kernel's version, {6, 18}.
	kernel [2]int
}

// Look examines a machine.
func Look(fs device.FS) (*Host, error) {
	tree, err := hierarchy.Read(fs)
	if err != nil {
		return nil, err
	}
	return On(fs, tree), nil
}

// On is Look with a known hierarchy.
func On(fs device.FS, tree *hierarchy.Tree) *Host {
	h := &Host{fs: fs, kernel: version(device.Text(fs.Proc, "sys", "kernel", "osrelease"))}
	if root, err := tree.Root(hierarchy.IO); err == nil {
		h.IO, h.dir, h.root = root.Version, root.Dir, root
	}
	if root, err := tree.Root(hierarchy.Memory); err == nil {
		h.Memory = root.Version
	}
	h.ChargesV1 = h.IO == 1 && slices.Contains(strings.Fields(device.Text(fs.Proc, "cmdline")), "cgwb_v1")
	return h
}

// version reads "6.18.44-fc". A text that it can't read is version 0.
func version(release string) (v [2]int) {
	for i, part := range strings.SplitN(release, ".", 3) {
		if i < len(v) {
			v[i], _ = strconv.Atoi(part)
		}
	}
	return v
}

// since reports whether the kernel has at least this version. An unknown kernel counts as new.
func (h *Host) since(major, minor int) bool {
	return h.kernel[0] == 0 || h.kernel[0] > major || h.kernel[0] == major && h.kernel[1] >= minor
}

// rates reports whether the kernel supports rates at all.
func (h *Host) rates() bool {
	return h.IO == 2 || h.IO == 1 && device.Exists(h.dir, "blkio.throttle.write_bps_device")
}

// Rates reports whether bandwidth and IOPS can be limited.
func (h *Host) Rates() Ability {
	switch {
	case h.IO == 0:
		return Ability{Not, "no blkio or io controller is mounted", "boot with a kernel that has CONFIG_BLK_CGROUP and CONFIG_BLK_DEV_THROTTLING"}
	case !h.rates():
		return Ability{Not, "the kernel has no throttling (CONFIG_BLK_DEV_THROTTLING)", "boot with a kernel that has it"}
	case h.IO == 2 && !weight.InAnyGroup(h.dir, "io.max"):
		return Ability{Almost, "no group has io.max yet: the controller isn't given to any", "echo +io > " + filepath.Join(h.dir, "cgroup.subtree_control")}
	}
	return Ability{Status: OK}
}

// Buffered reports whether limits hold buffered writes.
func (h *Host) Buffered() Ability {
	switch {
	case h.IO == 0:
		return Ability{Status: Not, Why: "no I/O controller"}
	case h.IO == 2 && h.Memory == 2:
		return Ability{Status: OK, Why: "on ext2, ext4 (without data=journal), xfs, btrfs and f2fs"}
	case h.ChargesV1:
		return Ability{Status: OK, Why: "the kernel was booted with cgwb_v1"}
	case h.IO == 2:
		return Ability{Almost, "with the memory controller in version 1 only synced and direct writes are held", "boot with cgroup_no_v1=all"}
	}
	return Ability{
		Almost, "with version 1 only synced and direct writes are held; a volume with a device of its own can be limited at the device",
		"boot with systemd.unified_cgroup_hierarchy=1 cgroup_no_v1=all",
	}
}
