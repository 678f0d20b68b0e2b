package doctor

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/host/device"
)

// A filesystem is one that volumes or shares may need.
type filesystem struct {
	name, module string
	// mkfs is the program that makes one, and pkg the Debian package with it.
	mkfs, pkg string
}

var filesystems = []filesystem{
	{"ext4", "ext4", "mkfs.ext4", "e2fsprogs"},
	{"xfs", "xfs", "mkfs.xfs", "xfsprogs"},
	{"btrfs", "btrfs", "mkfs.btrfs", "btrfs-progs"},
	{"overlay", "overlay", "", ""},
	{"fuse", "fuse", "", ""},
	{"nfs", "nfs", "mount.nfs", "nfs-common"},
	{"9p", "9p", "", ""},
	{"virtiofs", "virtiofs", "", ""},
}

// provide examines what volumes and shares need.
func (e *examination) provide() {
	known := knownFilesystems(device.Text(e.o.FS.Proc, "filesystems"))
	modules := e.modules()
	for _, f := range filesystems {
		i := Item{ID: "fs/" + f.name, Group: Provide, Status: OK, What: "file system " + f.name}
		switch {
		case slices.Contains(known, f.name):
			if f.mkfs != "" && e.program(f.mkfs, "/sbin/"+f.mkfs, "/usr/sbin/"+f.mkfs) == "" {
				i.Status, i.Why, i.Fix = Partly, "the kernel has it, but there is no "+f.mkfs, "apt-get install "+f.pkg
			}
		case modules[f.module]:
			i.Status, i.Why, i.Fix = Partly, "its module is installed but not loaded", "modprobe "+f.module
		default:
			i.Status, i.Why = No, "the kernel has neither the file system nor a module for it"
		}
		e.add(i)
	}
	e.node("device/loop", "loop devices", "loop", modules["loop"], "loop-control")
	e.node("device/dm", "device mapper (LVM, encryption, delays)", "dm_mod", modules["dm_mod"], "mapper/control")
	e.node("device/nbd", "network block devices", "nbd", modules["nbd"], "nbd0")
	e.kvm()
	e.tool("tool/qemu", "QEMU, for virtual machines", "qemu-system-x86", "qemu-system-x86_64", "qemu-system-aarch64", "qemu-kvm", "/usr/libexec/qemu-kvm")
	e.tool("tool/fio", "fio, for cross-checks", "fio", "fio")
}

// knownFilesystems reads /proc/filesystems: "nodev\ttmpfs" or "\text4".
func knownFilesystems(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 0 {
			out = append(out, f[len(f)-1])
		}
	}
	return out
}

// ModulesOf is the folder of the modules of the running kernel.
func ModulesOf(fs device.FS) string {
	return filepath.Join("/lib/modules", device.Text(fs.Proc, "sys", "kernel", "osrelease"))
}

// modules lists the modules that the running kernel could load, with - as _.
func (e *examination) modules() map[string]bool {
	all := make(map[string]bool)
	f, err := os.Open(filepath.Join(e.o.Modules, "modules.dep"))
	if err != nil {
		return all
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		path, _, _ := strings.Cut(s.Text(), ":")
		name, _, _ := strings.Cut(filepath.Base(path), ".ko")
		all[strings.ReplaceAll(name, "-", "_")] = true
	}
	return all
}

// node looks for a device node.
func (e *examination) node(id, what, module string, loadable bool, name string) {
	i := Item{ID: id, Group: Provide, Status: OK, What: what}
	switch {
	case device.Exists(e.o.Dev, name) && writable(filepath.Join(e.o.Dev, name)):
	case device.Exists(e.o.Dev, name):
		i.Status, i.Why, i.Fix = Partly, filepath.Join(e.o.Dev, name)+" exists, but this user can't use it", "run as root"
	case loadable:
		i.Status, i.Why, i.Fix = Partly, "the module is installed but not loaded", "modprobe "+module
	default:
		i.Status, i.Why = No, "no "+filepath.Join(e.o.Dev, name)+" and no module "+module
	}
	e.add(i)
}

// kvm looks for hardware virtualisation. The device node alone proves nothing: in a virtual machine it may exist and
// refuse.
func (e *examination) kvm() {
	i := Item{ID: "device/kvm", Group: Provide, Status: Partly, What: "hardware virtualisation (KVM)", Why: "present, not tried"}
	switch {
	case !device.Exists(e.o.Dev, "kvm"):
		i.Status, i.Why, i.Fix = No, "no "+filepath.Join(e.o.Dev, "kvm")+": virtual machines run without it, many times slower", "enable virtualisation in the firmware, then modprobe kvm_intel or kvm_amd"
	case !writable(filepath.Join(e.o.Dev, "kvm")):
		i.Why, i.Fix = "present, but this user can't use it", "add the user to the group kvm"
	}
	e.add(i)
}

// tool looks for a program.
func (e *examination) tool(id, what, pkg string, names ...string) {
	i := Item{ID: id, Group: Provide, Status: OK, What: what}
	if e.program(names...) == "" {
		i.Status, i.Why, i.Fix = No, "no "+names[0]+" on the path", "apt-get install "+pkg
	}
	e.add(i)
}

// sorted returns a sorted copy.
func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }
