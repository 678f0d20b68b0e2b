package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/host/loop"
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
	options, err := im.options(o)
	if err != nil {
		return Mounted{}, err
	}
	at, err := mountedAt(target)
	if err != nil {
		return Mounted{}, err
	}
	d, err := loop.Find(im.File)
	if err != nil {
		return Mounted{}, err
	}
	switch {
	case at != nil && d != nil && at.Source == d.Name():
		defer d.Close()
		m, err := im.mounted(d, target)
		m.Already = true
		return m, err
	case at != nil:
		return Mounted{}, fmt.Errorf("%s has another mount (%s of %s): unmount it first", target, at.FSType, at.Source)
	case d == nil:
		if d, err = im.attach(ctx); err != nil {
			return Mounted{}, err
		}
	}
	defer d.Close()
	if err := im.show(d, target, o.ReadOnly, options); err != nil {
		return Mounted{}, err
	}
	return im.mounted(d, target)
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

// attach checks an image that has no loop device, and gives it one.
func (im *opened) attach(ctx context.Context) (*os.File, error) {
	if err := filesystem.Check(ctx, im.File, im.super); err != nil {
		return nil, err
	}
	return loop.Attach(im.File)
}

// tree mounts the file system on the image's device, attached to no folder.
func (im *opened) tree(d *os.File, options ...string) (*filesystem.Tree, error) {
	t, err := filesystem.Open(d.Name(), im.super.Kind, options...)
	// EUCLEAN and EBADMSG are the file systems' EFSCORRUPTED and EFSBADCRC.
	if errors.Is(err, unix.EUCLEAN) || errors.Is(err, unix.EBADMSG) || errors.Is(err, unix.EIO) {
		return nil, filesystem.Damaged(im.Name(), im.super.Kind, err.Error())
	}
	return t, err
}

// show mounts the file system on target, with the volume's folder in it.
func (im *opened) show(d *os.File, target string, readOnly bool, options []string) error {
	t, err := im.tree(d, options...)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := im.notLost(t); err != nil {
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
func (im *opened) notLost(t *filesystem.Tree) error {
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
		return filesystem.Damaged(im.Name(), im.super.Kind, fmt.Sprintf("its folder %s is missing, but %.5q are there", dataName, names))
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
func (im *opened) mounted(d *os.File, target string) (Mounted, error) {
	n, err := loop.Number(d)
	m := Mounted{Root: Root(target), Device: n, Source: d.Name(), Filesystem: im.super.Kind}
	if !loop.Direct(d.Name()) {
		m.Note = fmt.Sprintf("%s has no direct I/O to its image: its file system has none; the page cache holds data twice", d.Name())
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
// which the image must not be mounted.
func Check(ctx context.Context, path string, thorough bool) error {
	im, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer im.Close()
	d, err := loop.Find(im.File)
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
	if err := filesystem.Check(ctx, im.File, im.super); err != nil || !thorough {
		return err
	}
	return filesystem.Inspect(ctx, path, im.super.Kind)
}
