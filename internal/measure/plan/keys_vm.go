package plan

import (
	"slices"
	"strings"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/limit"
)

// Ways to share a folder with a virtual machine, and modes of the guest's cache of it.
const (
	share9P       = "9p"
	shareVirtioFS = "virtiofs"
	shareSMB      = "smb"
	shareNFS      = "nfs"
)

// shareCaches are the values of a share's cache: Documentation/filesystems/9p.rst, virtiofsd(1), mount.cifs(8) and nfs(5).
var shareCaches = map[string][]string{
	share9P:       {"none", "loose", "fscache", "mmap"},
	shareVirtioFS: {"none", "auto", "always"},
	shareSMB:      {"none", "strict", "loose"},
	shareNFS:      {"none", "auto", "loose"},
}

// Bounds of a virtual machine. Linux with a worker doesn't start with less memory, and a smaller disk has no useful ext4.
const (
	minMachineMemory = 192 << 20
	minMachineDisk   = 32 << 20
	minMSize         = 4 << 10
	maxMSize         = 1 << 20
	minNFSSize       = 4 << 10
	maxNFSSize       = 1 << 20
	maxMachineCPUs   = 64
)

// machineFields are the keys of an engine of kind vm.
func machineFields() []strict.Field[EngineSpec] {
	type E = EngineSpec
	return []strict.Field[E]{
		strict.Key("kernel", "Path of the machine's Linux kernel: a vmlinuz or vmlinux. Default: the running kernel's if it is installed, else the newest that is.", absolute(), func(e *E) *string { return &e.Machine.Kernel }),
		strict.Key("modules", "Folder of that kernel's modules, which contains modules.dep. Default: searched in /lib/modules and beside the kernel.", absolute(), func(e *E) *string { return &e.Machine.Modules }),
		strict.Key("accel", "What runs the machine's processor: kvm, or tcg, which emulates it. Default: kvm if a machine starts with it, else tcg.", strict.Choice("kvm", "tcg"), func(e *E) *string { return &e.Machine.Accel }),
		strict.Key("memory", "The machine's memory. Default: 256 MiB, plus the size of a tmpfs.", strict.Size(minMachineMemory, limit.MaxMemory), func(e *E) *int64 { return &e.Machine.Memory }),
		strict.Key("cpus", "How many processors the machine has. Default: as many as the host, 4 at most.", strict.Integer(1, maxMachineCPUs), func(e *E) *int { return &e.Machine.CPUs }),
		strict.Key("share", "How a place of kind bind is shared with the machine. Default: 9p.", strict.Choice(share9P, shareVirtioFS, shareSMB, shareNFS), func(e *E) *string { return &e.Machine.Share }),
		strict.Key("cache", "How the machine caches a share. 9p: none, loose, fscache or mmap; virtiofs: none, auto or always; smb: none, strict or loose; nfs: none, auto or loose. Default: none for 9p, auto for virtiofs and nfs, strict for smb.", strict.Choice("none", "loose", "fscache", "mmap", "auto", "always", "strict"), func(e *E) *string { return &e.Machine.Cache }),
		strict.Key("msize", "The largest 9p message. Default: 500 KiB.", strict.Size(minMSize, maxMSize), func(e *E) *int64 { return &e.Machine.MSize }),
		strict.Key("vers", "NFS version. Default: 4.2.", strict.Version("4.0", "4.1", "4.2"), func(e *E) *string { return &e.Machine.Vers }),
		strict.Key("rsize", "The largest NFS read. Default: 1 MiB.", strict.Size(minNFSSize, maxNFSSize), func(e *E) *int64 { return &e.Machine.RSize }),
		strict.Key("wsize", "The largest NFS write. Default: 1 MiB.", strict.Size(minNFSSize, maxNFSSize), func(e *E) *int64 { return &e.Machine.WSize }),
		strict.Key("sync", "Mounts NFS so that each write waits until the server has synced it. Default: false.", strict.Boolean(), func(e *E) *bool { return &e.Machine.Sync }),
		strict.Key("disk", "Size of the machine's own disk, a place of kind layer; only written data takes room. Default: 8 GiB.", strict.Size(minMachineDisk, limit.MaxMemory), func(e *E) *int64 { return &e.Machine.Disk }),
		strict.Key("format", "Format of the disk's file. Default: raw.", strict.Choice("raw", "qcow2"), func(e *E) *string { return &e.Machine.Format }),
		strict.Key("disk_cache", "How the host caches the disk, in QEMU's words. Default: writeback.", strict.Choice("none", "writeback", "writethrough", "directsync", "unsafe"), func(e *E) *string { return &e.Machine.DiskCache }),
		strict.Key("limits", "Where the limits of a cell apply: inside, by the guest's control groups, or outside, by a control group of the host around QEMU and the share's daemon. Default: inside.", strict.Choice("inside", "outside"), func(e *E) *string { return &e.Machine.Limits }),
		strict.Key("boot", "Boots each machine, instead of resuming one that was saved after it had booted. Default: false.", strict.Boolean(), func(e *E) *bool { return &e.Machine.Boot }),
	}
}

// checkMachine checks what single keys don't cover.
func checkMachine(d *strict.Decoder, path string, e *EngineSpec) {
	m := &e.Machine
	share := share9P
	if m.Share != "" {
		share = m.Share
	}
	if known := shareCaches[share]; m.Cache != "" && !slices.Contains(known, m.Cache) {
		d.Fail(strict.Join(path, "cache"), "%s has no cache mode %s: use %s", share, m.Cache, strings.Join(known, ", "))
	}
	if m.MSize > 0 && share != share9P {
		d.Fail(strict.Join(path, "msize"), "msize is for 9p, and share is %s", share)
	}
	for _, k := range []struct {
		name string
		set  bool
		size int64
	}{{"vers", m.Vers != "", 0}, {"rsize", m.RSize > 0, m.RSize}, {"wsize", m.WSize > 0, m.WSize}, {"sync", m.Sync, 0}} {
		if k.set && share != shareNFS {
			d.Fail(strict.Join(path, k.name), "%s is for nfs, and share is %s", k.name, share)
		}
		// A kernel rounds other sizes.
		if k.size&(k.size-1) != 0 {
			d.Fail(strict.Join(path, k.name), "%s must be a power of two", k.name)
		}
	}
	if m.Modules != "" && m.Kernel == "" {
		d.Fail(strict.Join(path, "modules"), "modules belong to a kernel: set kernel, too")
	}
}
