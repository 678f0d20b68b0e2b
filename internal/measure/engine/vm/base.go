package vm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/guest"
	"plimsoll/internal/measure/place"
)

// A bootFiles holds what all machines of an engine boot from.
type bootFiles struct {
	// qemu is the program's path, version its own version: "7.2.22".
	qemu, version string
	kernel        guest.Kernel
	// image is the kernel's file, initrd the first root file system. modules are loaded from the latter before anything
	// else.
	image, initrd string
	modules       []string
	// accel is AccelKVM or AccelTCG.
	accel string
	notes []string
}

// words name QEMU, the accelerator and the kernel: "qemu 7.2.22, TCG, Linux 6.1.0-56-amd64".
func (b *bootFiles) words() string {
	return b.runtime(b.accel) + ", Linux " + b.kernel.Version
}

func (b *bootFiles) runtime(accel string) string {
	return "qemu " + b.version + ", " + strings.ToUpper(accel)
}

// baseModules are those that every machine needs to communicate with plimsoll.
var baseModules = []string{"virtio_pci", "virtio_console"}

// prepare finds or makes the files that machines boot from, once.
func (v *Engine) prepare(ctx context.Context) (*bootFiles, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.base != nil {
		return v.base, nil
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return nil, v.no("virtual machine", "it needs Linux on amd64", "use another engine")
	}
	b := &bootFiles{}
	var err error
	if b.qemu, err = v.LookPath("qemu-system-x86_64"); err != nil {
		return nil, v.no("virtual machine", "qemu-system-x86_64 is not installed", "install qemu-system-x86")
	}
	if b.version, err = qemuVersion(ctx, b.qemu); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, v.no("virtual machine", err.Error(), "reinstall qemu-system-x86")
	}
	if err := v.findKernel(b); err != nil {
		return nil, err
	}
	if err := v.makeImages(b); err != nil {
		return nil, engine.StateFault(v.State, err)
	}
	v.touch(b.image, b.initrd)
	v.dropImages()
	v.dropSaved()
	if err := v.chooseAccel(ctx, b, kvmDevice); err != nil {
		return nil, err
	}
	v.base = b
	return b, nil
}

// versionWords finds the version in the output of qemu --version.
var versionWords = regexp.MustCompile(`version ([0-9][0-9.]*)`)

func qemuVersion(ctx context.Context, qemu string) (string, error) {
	said, err := say(ctx, qemu, "--version")
	m := versionWords.FindStringSubmatch(said)
	if err != nil || m == nil {
		return "", notRunning(qemu, said, err)
	}
	return m[1], nil
}

// findKernel finds the kernel and its first modules.
func (v *Engine) findKernel(b *bootFiles) error {
	var err error
	if v.Kernel != "" {
		b.kernel, err = guest.Open(v.Root, v.Kernel, v.Modules)
	} else {
		running, _ := os.ReadFile("/proc/sys/kernel/osrelease")
		b.kernel, err = guest.Find(v.Root, strings.TrimSpace(string(running)))
	}
	if err == nil && b.kernel.Modules == "" {
		return v.no("virtual machine", fmt.Sprintf("the modules of kernel %s, of version %s, can't be found", b.kernel.Path, b.kernel.Version),
			"name the folder that has their modules.dep, beside kernel: in the plan: modules: /path/lib/modules/"+b.kernel.Version)
	}
	if err == nil {
		b.modules, err = b.kernel.Resolve(baseModules...)
	}
	if err != nil {
		return v.no("virtual machine", err.Error(), noKernelFix)
	}
	return nil
}

// makeImages makes the kernel's unpacked file and the first root file system, unless they exist. Their names have a hash of
// what they are made from.
func (v *Engine) makeImages(b *bootFiles) error {
	if err := v.ownCache(); err != nil {
		return err
	}
	if err := v.unpackKernel(b); err != nil {
		return err
	}
	worker, err := v.Worker("linux", runtime.GOARCH)
	if err != nil {
		return err
	}
	all := append([]string{}, b.modules...)
	for _, kind := range []place.Kind{place.Layer, place.Bind} {
		for _, share := range shareWays {
			// The modules of all shares, so that one file serves every place. Those of NFS, a third of all, are left out if
			// unused.
			if share == ShareNFS && v.Share != ShareNFS {
				continue
			}
			if files, err := v.modulesOf(b, kind, share); err == nil {
				all = append(all, files...)
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	h := sha256.New()
	h.Write(worker)
	for _, m := range all {
		st, err := os.Stat(m)
		if err != nil {
			return err
		}
		fmt.Fprintln(h, m, st.Size(), st.ModTime().UnixNano())
	}
	b.initrd = filepath.Join(v.cacheDir(), initrdPrefix+hex.EncodeToString(h.Sum(nil)[:8]))
	if ours(b.initrd) && guest.IsInitramfs(b.initrd) {
		return nil
	}
	return guest.WriteInitramfs(b.initrd, worker, all)
}

// unpackKernel unpacks the kernel: an emulated processor takes seconds for it at every start.
func (v *Engine) unpackKernel(b *bootFiles) error {
	st, err := os.Stat(b.kernel.Path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(fmt.Append(nil, b.kernel.Path, st.Size(), st.ModTime().UnixNano()))
	b.image = filepath.Join(v.cacheDir(), kernelPrefix+hex.EncodeToString(sum[:8]))
	if ours(b.image) && guest.IsUnpacked(b.image) {
		return nil
	}
	err = b.kernel.Unpack(b.image)
	if errors.Is(err, guest.ErrPacked) {
		b.notes = append(b.notes, fmt.Sprintf("%s: machines start some seconds later", err))
		b.image, err = b.kernel.Path, nil
	}
	return err
}
