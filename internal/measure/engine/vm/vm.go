// Package vm is the engine vm: the worker is the first process of a small virtual machine that QEMU runs, with a kernel of
// its own.
//
// The files that a machine boots from (kernel, first root file system) are made once and kept in the state folder. So are
// machines that have booted: the next of their kind resumes from there. A place is memory of the guest, a disk of the
// machine's own, or a folder of this machine that is shared by 9p, virtiofs, SMB or NFS, each with a server of the session's
// own that no other client can reach.
package vm

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/guest"
	"plimsoll/internal/measure/engine/seccomp"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/text/refusal"
)

// Ways of sharing a folder of this machine with a virtual machine.
const (
	Share9P       = "9p"
	ShareVirtioFS = "virtiofs"
	ShareSMB      = "smb"
	ShareNFS      = "nfs"
)

// shareWays are all of them.
var shareWays = []string{Share9P, ShareVirtioFS, ShareSMB, ShareNFS}

// Accelerators, which run a virtual machine's processor.
const (
	AccelKVM = "kvm"
	AccelTCG = "tcg"
)

// Formats of a virtual machine's own disk.
const (
	DiskRaw   = "raw"
	DiskQCOW2 = "qcow2"
)

// Options describe the virtual machines of an engine.
type Options struct {
	// State is Plimsoll's state directory; LookPath finds a program (exec.LookPath).
	State    string
	Worker   engine.WorkerSource
	LookPath func(string) (string, error)
	// Root is the folder below which kernels are searched. Empty: /.
	Root string
	// Kernel is the kernel's file, Modules the folder of its modules.dep. Empty: the running kernel's if it is installed,
	// else the newest installed one.
	Kernel, Modules string
	// Accel is AccelKVM or AccelTCG. Empty: KVM if a machine answers with it, else TCG.
	Accel string
	// Share is how a place of kind bind is shared. Empty: Share9P.
	Share string
	// ShareCache is how the guest caches a share. 9p: none, loose, fscache or mmap (default: none); virtiofs: none, auto or
	// always (default: auto); smb: none, strict or loose (default: strict); nfs: none, auto or loose (default: auto). MSize
	// is the largest 9p message in bytes; 0: 500 KiB, the most that virtio carries.
	ShareCache string
	MSize      int64
	// NFSVersion is 4.0, 4.1 or 4.2 (default). NFSRead and NFSWrite are the largest read and write in bytes (0: the largest
	// that both sides support, 1 MiB). NFSSync makes each write wait until the server has synced it.
	NFSVersion        string
	NFSRead, NFSWrite int64
	NFSSync           bool
	// DiskFormat is DiskRaw (default) or DiskQCOW2. DiskCache is QEMU's word: none, writeback (default), writethrough,
	// directsync or unsafe. DiskSize is in bytes, 0: 8 GiB. Only
	// written data takes space.
	DiskFormat, DiskCache string
	DiskSize              int64
	// Memory is the machine's in bytes, 0: 256 MiB and the size of a tmpfs. CPUs is how many it has, 0: as many as this
	// machine, 4 at most.
	Memory int64
	CPUs   int
	// Limits is where a cell's limits apply: "" or "inside" for the guest's control groups, which limit the worker, or LimitsOutside.
	Limits string
	// Boot boots each machine, instead of resuming a saved one.
	Boot bool
}

// Defaults of Options.
const (
	defaultMemory   = 256 << 20
	mostCPUs        = 4
	defaultDiskSize = 8 << 30
	// spareMemory is how much of defaultMemory a small tmpfs may have.
	spareMemory  = 16 << 20
	defaultMSize = 500 << 10
)

// An Engine runs the worker as the first process of a small virtual machine, with a kernel of its own and devices that QEMU
// emulates.
type Engine struct {
	Options
	worker  *engine.Installer
	journal engine.Journal

	mu sync.Mutex
	// base holds the files that machines boot from; nil before they are made.
	base *bootFiles
}

var _ engine.Engine = (*Engine)(nil)

// New returns the engine vm.
func New(o Options) engine.Engine {
	if abs, err := filepath.Abs(o.State); err == nil {
		o.State = abs
	}
	if o.Root == "" {
		o.Root = "/"
	}
	return &Engine{Options: o, worker: &engine.Installer{Dir: filepath.Join(o.State, "cache"), Source: o.Worker}, journal: engine.JournalIn(o.State, "vm")}
}

// Name implements Engine.
func (v *Engine) Name() string { return "vm" }

// noKernelFix says what to do if no kernel can be used.
const noKernelFix = "install a kernel (linux-image-amd64 of Debian), or name one in the plan: engines: [{name: vm, kernel: /path/vmlinuz}]"

// Probe implements Engine: it starts a machine, and turns it off as soon as it answers.
func (v *Engine) Probe(ctx context.Context) engine.Probe {
	p := engine.Probe{Engine: v.Name()}
	base, err := v.prepare(ctx)
	if err != nil {
		p.Missing, p.Fix = parts(err)
		return p
	}
	p.Notes = base.notes
	p.Places = []place.Kind{place.Tmpfs}
	for _, kind := range []place.Kind{place.Layer, place.Bind} {
		if err := v.canHave(ctx, base, kind); err != nil {
			p.Notes = append(p.Notes, err.Error())
			continue
		}
		p.Places = append(p.Places, kind)
	}
	if err := v.try(ctx, base, base.accel); err != nil {
		p.Missing, p.Fix = "no machine starts: "+err.Error(), "see what "+base.qemu+" says; 'accel: tcg' in the plan emulates the processor"
		p.Failed = !errors.Is(err, refusal.ErrRefused)
		if !p.Failed {
			p.Missing, p.Fix = parts(err)
		}
		return p
	}
	p.OK, p.Version = true, base.words()
	return p
}

// parts splits a refusal for a Probe.
func parts(err error) (missing, fix string) {
	var u *refusal.Error
	if errors.As(err, &u) {
		return u.Why, u.Fix
	}
	return err.Error(), ""
}

// no returns a refusal.
func (v *Engine) no(what, reason, fix string) error {
	return &refusal.Error{Engine: v.Name(), What: what, Why: reason, Fix: fix}
}

// supports returns an error for what a virtual machine can't do of spec.
func (v *Engine) supports(spec engine.Spec) error {
	for _, p := range spec.Places() {
		switch p.Kind {
		case place.Layer, place.Bind, place.Tmpfs:
		case place.Dir:
			return v.no("place dir", "a virtual machine sees a host folder through a share", "use bind")
		case place.Volume:
			return v.no("place volume", "a virtual machine has no daemon with named volumes", "use layer for a separate disk, or bind")
		default:
			return v.no("place "+string(p.Kind), "the engine vm does not support it yet", "use bind")
		}
	}
	for _, k := range limit.Keys {
		if !spec.Limits.Has(k) {
			continue
		}
		switch {
		case k.IO() && spec.Place.Kind == place.Tmpfs:
			return v.no("limit on I/O", engine.MemoryPlace, engine.IOLimitsFix)
		case v.outside():
		case k == limit.Weight || k == limit.CPUShares || k == limit.Latency:
			return v.no("limit "+string(k), "it concerns neighbours, and a virtual machine has only one worker", "use rates, memory or cpus")
		case k.IO() && spec.Place.Kind == place.Bind:
			return v.no("limit on I/O", "a share is not a block device in the guest, and its control groups limit only those", "use layer, or 'limits: outside' of the engine")
		}
	}
	if v.outside() {
		if err := v.supportsOutside(spec); err != nil {
			return err
		}
	} else if spec.Limits.DeviceWide {
		return v.no("limit device_wide", "the guest has control groups of version 2, which charge buffered writes to the writer", "leave it out")
	}
	if err := engine.RefuseWindowsOnly(v.Name(), spec); err != nil {
		return err
	}
	switch {
	case spec.Network != "":
		return v.no("network "+spec.Network, "a virtual machine has no network", "use the docker engine")
	case spec.Image != "":
		return v.no("image", "a virtual machine contains only the worker", "leave image out")
	case spec.Runtime != "":
		return v.no("runtime", "a virtual machine runs no containers", "use the oci or docker engine")
	case spec.Seccomp != "" && spec.Seccomp != seccomp.Unconfined:
		return v.no("seccomp profile", "only containers have one", "use the oci or docker engine")
	}
	return nil
}

// canHave returns an error if something is missing for a kind of place.
func (v *Engine) canHave(ctx context.Context, base *bootFiles, kind place.Kind) error {
	if kind == place.Bind {
		return v.canShare(ctx, base, v.Share)
	}
	if _, err := v.modulesOf(base, kind, ""); err != nil || kind != place.Layer {
		return err
	}
	if _, err := v.LookPath("mkfs.ext4"); err != nil {
		return v.no("place layer", "mkfs.ext4, which formats the machine's disk, is not installed", "install e2fsprogs")
	}
	if v.DiskFormat == DiskQCOW2 {
		if _, err := v.LookPath("qemu-img"); err != nil {
			return v.no("disk of format qcow2", "qemu-img, which creates the disk, is not installed", "install qemu-utils, or use raw")
		}
	}
	return nil
}

// modulesOf lists the modules for a kind of place, shared in that way, beside those that every machine needs.
func (v *Engine) modulesOf(base *bootFiles, kind place.Kind, share string) ([]string, error) {
	var names, wishes []string
	what := "place " + string(kind)
	switch {
	case kind == place.Layer:
		names = []string{"virtio_blk", "ext4"}
	case kind == place.Bind && share == ShareVirtioFS:
		names, what = []string{"virtiofs"}, "share virtiofs"
	case kind == place.Bind && share == ShareSMB:
		names, wishes, what = smbModules, smbCrypto, "share smb"
	case kind == place.Bind && share == ShareNFS:
		names, what = nfsModules, "share nfs"
	case kind == place.Bind:
		names, what = []string{"9pnet_virtio", "9p"}, "share 9p"
	}
	for _, w := range wishes {
		if _, err := base.kernel.Resolve(w); err == nil {
			names = append(slices.Clip(names), w)
		}
	}
	files, err := base.kernel.Resolve(names...)
	var m *guest.MissingModuleError
	if errors.As(err, &m) {
		fix := "name another kernel with kernel: PATH"
		if kind == place.Bind {
			fix = "use another of 9p, virtiofs, smb and nfs with share:, or " + fix
		}
		return nil, v.no(what, err.Error(), fix)
	}
	return files, err
}

// memoryOf is how much memory a machine for spec has, in bytes: a multiple of 64 MiB, so that few kinds of machines are
// saved.
func (v *Engine) memoryOf(spec engine.Spec) int64 {
	m := v.Memory
	if m == 0 {
		m = defaultMemory
		for _, p := range spec.Places() {
			if size := cmp.Or(p.Size, engine.DefaultTmpfs); p.Kind == place.Tmpfs && size > spareMemory {
				m += size
			}
		}
	}
	const step = 64 << 20
	return (m + step - 1) / step * step
}

// cpusOf is how many processors a machine has.
func (v *Engine) cpusOf() int {
	if v.CPUs > 0 {
		return v.CPUs
	}
	return min(runtime.NumCPU(), mostCPUs)
}
