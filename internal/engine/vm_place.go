package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/place"
	"plimsoll/internal/wire"
)

// equip makes the device of a machine's place, and says what the guest does with it.
func (v *vm) equip(ctx context.Context, s *vmSession, spec Spec) error {
	seed := make([]byte, 32)
	rand.Read(seed)
	l := spec.Limits
	if v.outside() {
		l = limit.Limits{}
	}
	p := vmPlace{setup: wire.Setup{
		Now: time.Now(), Seed: seed, Dir: vmDir, Memory: l.Memory, CPUs: l.CPUs,
		ReadBPS: l.ReadBPS, WriteBPS: l.WriteBPS, ReadIOPS: l.ReadIOPS, WriteIOPS: l.WriteIOPS,
	}}
	files, err := v.modulesOf(s.base, spec.Place.Kind, v.Share)
	if err != nil {
		return err
	}
	p.setup.Modules = modulePaths(files)
	switch spec.Place.Kind {
	case place.Tmpfs:
		p.setup.Source, p.setup.FSType, p.setup.Options = "tmpfs", "tmpfs", fmt.Sprintf("size=%s,mode=0755", tmpfsSize(spec.Place))
		p.storage = "memory of the guest"
	case place.Layer:
		err = v.ownDisk(s, &p)
	case place.Bind:
		if err = os.Mkdir(s.data, 0o700); err == nil {
			p.hostPath = s.data
			err = v.share(ctx, s, &p)
		}
	}
	s.place = p
	return err
}

// ownDisk makes the machine's disk, with an ext4 on it.
func (v *vm) ownDisk(s *vmSession, p *vmPlace) error {
	size := cmp.Or(v.DiskSize, vmDiskSize)
	format, cache := cmp.Or(v.DiskFormat, DiskRaw), cmp.Or(v.DiskCache, "writeback")
	disk := filepath.Join(s.dir, "disk")
	if err := makeSparse(disk, size); err != nil {
		return ownFault(v.State, fmt.Errorf("make the machine's disk: %w", err))
	}
	// What is lazy is done by nobody, since the disk is mounted with noinit_itable: it would fall into the measurement.
	if err := v.tool("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard", disk); err != nil {
		return fmt.Errorf("make the machine's disk: %w", err)
	}
	if format == DiskQCOW2 {
		plain := disk
		disk += ".qcow2"
		if err := v.tool("qemu-img", "convert", "-f", "raw", "-O", "qcow2", plain, disk); err != nil {
			return fmt.Errorf("make the machine's disk: %w", err)
		}
		if err := os.Remove(plain); err != nil {
			return err
		}
	}
	p.hostPath = disk
	p.storage = fmt.Sprintf("virtio-blk, %s, cache=%s", format, cache)
	p.args = []string{
		"-drive", fmt.Sprintf("if=none,id=disk,file=%s,format=%s,cache=%s,aio=threads,discard=unmap", optionValue(disk), format, cache),
		"-device", "virtio-blk-pci,drive=disk",
	}
	p.setup.Source, p.setup.FSType, p.setup.Options, p.setup.Work = "/dev/vda", "ext4", "noinit_itable", "data"
	return nil
}

// makeSparse makes a file that takes no room yet.
func makeSparse(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}

// toolPatience is how long a program that makes a disk may take.
const toolPatience = 20 * time.Second

// tool runs a program to its end.
func (v *vm) tool(name string, args ...string) error {
	path, err := v.LookPath(name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), toolPatience)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(out[:min(len(out), 500)])))
	}
	return nil
}

// share shares the session's folder with the machine.
func (v *vm) share(ctx context.Context, s *vmSession, p *vmPlace) error {
	switch v.Share {
	case ShareVirtioFS:
		return v.shareVirtioFS(s, p)
	case ShareSMB:
		return v.shareSMB(s, p)
	case ShareNFS:
		return v.shareNFS(ctx, s, p)
	}
	cache, msize := cmp.Or(v.ShareCache, "none"), cmp.Or(v.MSize, vmMSize)
	p.storage = fmt.Sprintf("9p, cache=%s, msize=%d", cache, msize)
	p.args = []string{
		"-fsdev", fmt.Sprintf("local,id=share,path=%s,security_model=none,multidevs=remap", optionValue(s.data)),
		"-device", "virtio-9p-pci,fsdev=share,mount_tag=" + shareTag,
	}
	p.setup.Source, p.setup.FSType = shareTag, "9p"
	p.setup.Options = fmt.Sprintf("trans=virtio,version=9p2000.L,msize=%d,cache=%s", msize, cache)
	return nil
}

// shareTag is what the guest mounts a share by.
const shareTag = "plimsoll"
