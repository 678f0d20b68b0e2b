package vm

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/internal/limit"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/wire"
)

// equip makes the devices of a machine's places, and tells the guest how to use them.
func (v *Engine) equip(ctx context.Context, s *session, spec engine.Spec) error {
	seed := make([]byte, 32)
	rand.Read(seed)
	l := spec.Limits
	if v.outside() {
		l = limit.Limits{}
	}
	s.setup = wire.Setup{Now: time.Now(), Seed: seed, Limits: l}
	for i, where := range spec.Places() {
		p := &placeDevice{dir: s.dir, data: s.data[i], name: guestDirs[i][1:], server: serverAddresses[i], mount: wire.GuestMount{Dir: guestDirs[i]}}
		// From here on, what it starts ends with the session.
		s.places = append(s.places, p)
		if err := v.equipPlace(ctx, s, p, where); err != nil {
			return err
		}
		if i == 0 {
			s.setup.Place = p.mount
		} else {
			s.setup.Sources = &p.mount
		}
	}
	return nil
}

// equipPlace makes the device of one place.
func (v *Engine) equipPlace(ctx context.Context, s *session, p *placeDevice, where place.Spec) error {
	files, err := v.modulesOf(s.base, where.Kind, v.Share)
	if err != nil {
		return err
	}
	for _, m := range modulePaths(files) {
		if !slices.Contains(s.setup.Modules, m) {
			s.setup.Modules = append(s.setup.Modules, m)
		}
	}
	if len(s.places) > 1 {
		p.dir = filepath.Join(s.dir, p.name)
		if err := os.Mkdir(p.dir, 0o700); err != nil {
			return engine.StateFault(v.State, err)
		}
	}
	switch where.Kind {
	case place.Tmpfs:
		p.mount.Source, p.mount.FSType, p.mount.Options = "tmpfs", "tmpfs", fmt.Sprintf("size=%s,mode=0755", engine.TmpfsSize(where))
		p.storage = "memory of the guest"
	case place.Layer:
		return v.ownDisk(ctx, s, p)
	case place.Bind:
		if err := os.Mkdir(p.data, 0o700); err != nil {
			return err
		}
		p.hostPath = p.data
		return v.share(ctx, s, p)
	}
	return nil
}

// ownDisk makes the machine's disk, with an ext4 on it.
func (v *Engine) ownDisk(ctx context.Context, s *session, p *placeDevice) error {
	size := cmp.Or(v.DiskSize, defaultDiskSize)
	format, cache := cmp.Or(v.DiskFormat, DiskRaw), cmp.Or(v.DiskCache, "writeback")
	disk := filepath.Join(p.dir, "disk")
	if err := makeSparse(disk, size); err != nil {
		return engine.StateFault(v.State, fmt.Errorf("make the machine's disk: %w", err))
	}
	// Nothing is left to be initialized lazily, since the disk is mounted with noinit_itable: it would fall into the
	// measurement.
	if err := v.tool(ctx, "mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard", disk); err != nil {
		return fmt.Errorf("make the machine's disk: %w", err)
	}
	if format == DiskQCOW2 {
		plain := disk
		disk += ".qcow2"
		if err := v.tool(ctx, "qemu-img", "convert", "-f", "raw", "-O", "qcow2", plain, disk); err != nil {
			return fmt.Errorf("make the machine's disk: %w", err)
		}
		if err := os.Remove(plain); err != nil {
			return err
		}
	}
	before := 0
	for _, other := range s.places {
		if other.disk {
			before++
		}
	}
	p.hostPath, p.disk = disk, true
	p.storage = fmt.Sprintf("virtio-blk, %s, cache=%s", format, cache)
	p.args = []string{
		// QEMU passes errors to the guest. By default it would stop a machine whose disk has no space, and wait.
		"-drive", fmt.Sprintf("if=none,id=disk-%s,file=%s,format=%s,cache=%s,aio=threads,discard=unmap,werror=report,rerror=report", p.name, optionValue(disk), format, cache),
		"-device", "virtio-blk-pci,drive=disk-" + p.name,
	}
	p.mount.Source, p.mount.FSType, p.mount.Options, p.mount.Work = "/dev/vd"+string(rune('a'+before)), "ext4", "noinit_itable", "data"
	return nil
}

// makeSparse makes a file that takes no space yet.
func makeSparse(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}

// share shares the session's folder with the machine.
func (v *Engine) share(ctx context.Context, s *session, p *placeDevice) error {
	switch v.Share {
	case ShareVirtioFS:
		return v.shareVirtioFS(ctx, s, p)
	case ShareSMB:
		return v.shareSMB(ctx, s, p)
	case ShareNFS:
		return v.shareNFS(ctx, s, p)
	}
	cache, msize := cmp.Or(v.ShareCache, "none"), cmp.Or(v.MSize, defaultMSize)
	p.storage = fmt.Sprintf("9p, cache=%s, msize=%d", cache, msize)
	p.args = []string{
		"-fsdev", fmt.Sprintf("local,id=%s,path=%s,security_model=none,multidevs=remap", p.share(), optionValue(p.data)),
		"-device", "virtio-9p-pci,fsdev=" + p.share() + ",mount_tag=" + p.tag(),
	}
	p.mount.Source, p.mount.FSType = p.tag(), "9p"
	p.mount.Options = fmt.Sprintf("trans=virtio,version=9p2000.L,msize=%d,cache=%s", msize, cache)
	return nil
}

// shareTag is the name by which the guest mounts a share; tag is the name if the machine has the shares of two places.
const shareTag = "plimsoll"

func (p *placeDevice) tag() string { return shareTag + "-" + p.name }

// share names the share in QEMU's options.
func (p *placeDevice) share() string { return "share-" + p.name }

// socketFD is the file number at which QEMU inherits the socket of a place.
func (s *session) socketFD(p *placeDevice) int {
	fd := shareFD
	for _, other := range s.places {
		if other != p && other.socket != nil {
			fd++
		}
	}
	return fd
}
