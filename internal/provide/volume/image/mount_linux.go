package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/host/loop"
	"plimsoll/internal/provide/volume/key"
)

// Mount mounts an image on an existing folder. If it is there already, nothing happens. After a crash it repairs what is safe to
// repair; a damaged image is a *filesystem.DamagedError and isn't mounted.
func Mount(ctx context.Context, path, target string, o MountOptions) (Mounted, error) {
	m, err := mount(ctx, path, target, o)
	if err != nil {
		return Mounted{}, fmt.Errorf("mount %s: %w", path, err)
	}
	return m, nil
}

func mount(ctx context.Context, path, target string, o MountOptions) (Mounted, error) {
	im, err := open(ctx, path)
	if err != nil {
		return Mounted{}, err
	}
	defer im.Close()
	if err := im.suits(o.Key); err != nil {
		return Mounted{}, err
	}
	at, err := mountedAt(target)
	if err != nil {
		return Mounted{}, err
	}
	d, err := im.attached(ctx)
	if err != nil {
		return Mounted{}, err
	}
	if d == nil && at == nil {
		d, err = im.attach(ctx, o.Key)
	}
	if err != nil {
		return Mounted{}, err
	}
	if d != nil {
		defer d.Close()
	}
	switch {
	case at != nil && d != nil && sameDevice(at.Source, d.File):
		m, err := im.mounted(d, target)
		m.Already = true
		return m, err
	case at != nil:
		return Mounted{}, fmt.Errorf("%s has another mount (%s of %s): unmount it first", target, at.FSType, at.Source)
	}
	options, err := im.options(o)
	if err != nil {
		return Mounted{}, err
	}
	if err := im.show(d, target, o.ReadOnly, options); err != nil {
		return Mounted{}, err
	}
	return im.mounted(d, target)
}

// sameDevice reports whether a path leads to an open device. btrfs may know a device by another path than that of its mount.
func sameDevice(path string, d *os.File) bool {
	at, err := os.Stat(path)
	if err != nil {
		return false
	}
	st, err := d.Stat()
	return err == nil && at.Mode()&os.ModeDevice != 0 && at.Sys().(*syscall.Stat_t).Rdev == st.Sys().(*syscall.Stat_t).Rdev
}

// options are the file system's options of a mount.
func (im *opened) options(o MountOptions) ([]string, error) {
	discard := "nodiscard"
	if o.Discard {
		discard = "discard"
	}
	if o.Compression == "" {
		return []string{discard}, nil
	}
	if im.super.Kind != filesystem.Btrfs {
		return nil, fmt.Errorf("%s has no compression: make the volume with btrfs", im.super.Kind)
	}
	if !slices.Contains([]string{"lzo", "zlib", "zstd"}, o.Compression) {
		return nil, fmt.Errorf("%q is no compression of btrfs: lzo, zlib or zstd", o.Compression)
	}
	return []string{discard, "compress=" + o.Compression}, nil
}

// tree mounts the file system on the image's device, attached to no folder.
func (im *opened) tree(d *disk, options ...string) (*filesystem.Tree, error) {
	if im.header != nil && im.super.Kind == filesystem.Ext4 {
		options = append(options, filesystem.NoInit)
	}
	t, err := filesystem.Open(d.Name(), im.super.Kind, options...)
	// EUCLEAN and EBADMSG are the file systems' EFSCORRUPTED and EFSBADCRC.
	if errors.Is(err, unix.EUCLEAN) || errors.Is(err, unix.EBADMSG) || errors.Is(err, unix.EIO) {
		return nil, im.damaged(d, err.Error())
	}
	return t, err
}

// damaged is the error for a damaged file system.
func (im *opened) damaged(d *disk, why string) error {
	path := im.Name()
	if im.header != nil {
		path = d.Name()
	}
	return im.damage(filesystem.Damaged(path, im.super.Kind, why), d)
}

// show mounts the file system on target, with the volume's folder in it.
func (im *opened) show(d *disk, target string, readOnly bool, options []string) error {
	t, err := im.tree(d, options...)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := im.notLost(d, t); err != nil {
		return err
	}
	data, err := t.Folder(dataName, true)
	if err != nil {
		return err
	}
	defer data.Close()
	return t.Attach(target, readOnly)
}

// notLost reports damage if the volume's folder is missing, but others are there: it isn't the first mount.
func (im *opened) notLost(d *disk, t *filesystem.Tree) error {
	names, err := namesIn(t.File)
	if err != nil || slices.Contains(names, dataName) {
		return err
	}
	if at := slices.Index(names, "lost+found"); at >= 0 {
		names = slices.Delete(names, at, at+1)
		lost, err := t.Folder("lost+found", false)
		if err != nil {
			return err
		}
		defer lost.Close()
		found, err := namesIn(lost)
		if err != nil {
			return err
		}
		names = append(names, found...)
	}
	if len(names) > 0 {
		return im.damaged(d, fmt.Sprintf("its folder %s is missing, but %.5q are there", dataName, names))
	}
	return nil
}

// namesIn lists an open folder from its beginning.
func namesIn(dir *os.File) ([]string, error) {
	if _, err := dir.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return dir.Readdirnames(-1)
}

// mounted describes an image that is mounted on target.
func (im *opened) mounted(d *disk, target string) (Mounted, error) {
	n, err := loop.Number(d.File)
	m := Mounted{Root: Root(target), Device: n, Source: d.Name(), Filesystem: im.super.Kind}
	if !loop.Direct(d.loop.Name()) {
		m.Note = fmt.Sprintf("%s has no direct I/O to its image: its file system has none; the page cache holds data twice", d.loop.Name())
	}
	return m, err
}

// mountedAt returns the topmost mount on a folder, nil if there is none.
func mountedAt(target string) (*device.Mount, error) {
	real, err := filepath.EvalSymlinks(target)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil, fmt.Errorf("folder for a mount: %w", err)
	}
	mounts, err := device.Host().Mounts()
	if err != nil {
		return nil, err
	}
	var top *device.Mount
	for i := range mounts {
		if mounts[i].Point == real {
			top = &mounts[i]
		}
	}
	return top, nil
}

// Check reports whether an image can be mounted, and repairs what is safe to repair. With thorough it reads all of the metadata, for
// which the image must not be mounted. An encrypted image needs its key, unless it is mounted.
func Check(ctx context.Context, path string, thorough bool, k key.Source) error {
	im, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer im.Close()
	d, err := im.attached(ctx)
	if err != nil {
		return err
	}
	if d != nil {
		d.Close()
		if thorough {
			return fmt.Errorf("check %s: it is attached to %s: unmount it first", path, d.Name())
		}
		return nil
	}
	if im.header != nil {
		if d, err = im.attach(ctx, k); err != nil {
			return err
		}
		if thorough {
			err = im.damage(filesystem.Inspect(ctx, d.Name(), im.super.Kind), d)
		}
		return errors.Join(err, d.end(ctx))
	}
	if err := im.suits(k); err != nil {
		return err
	}
	if err := filesystem.Check(ctx, im.File, im.super); err != nil || !thorough {
		return err
	}
	return filesystem.Inspect(ctx, path, im.super.Kind)
}
