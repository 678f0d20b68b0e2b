package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/host/loop"
	"plimsoll/internal/host/luks"
	"plimsoll/internal/provide/volume/key"
	"plimsoll/internal/state/filelock"
	"plimsoll/internal/text/refusal"
)

// Snapshot copies an image to the path to, which must not exist: blocks are shared, where the image's file system can (FICLONE). A
// mounted volume is frozen meanwhile, and thawed even if the process is killed. The snapshot is an image with the same UUID: don't
// mount it, but a Clone of it.
func Snapshot(ctx context.Context, path, to string, o SnapshotOptions) error {
	im, err := open(ctx, path)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	defer im.Close()
	return create(to, func(f *os.File) error { return im.still(ctx, func() error { return duplicate(ctx, f, im.File, o) }) })
}

// still runs f while no write reaches the image.
func (im *opened) still(ctx context.Context, f func() error) (err error) {
	d, err := im.attached(ctx)
	if err != nil {
		return err
	}
	if d == nil {
		return f()
	}
	defer d.Close()
	t, err := im.tree(d)
	if err != nil {
		return err
	}
	defer t.Close()
	thaw, err := filesystem.Freeze(t.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, thaw()) }()
	return f()
}

// duplicate copies a file's content to an empty file.
func duplicate(ctx context.Context, to, from *os.File, o SnapshotOptions) error {
	err := unix.IoctlFileClone(int(to.Fd()), int(from.Fd()))
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EXDEV) && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTTY):
		return fmt.Errorf("share the blocks of %s: %w", from.Name(), err)
	case !o.Copy:
		return &refusal.Error{What: "a snapshot of " + from.Name() + " in " + filepath.Dir(to.Name()), Why: "its file system can't share blocks between files (" + err.Error() + ")",
			Fix: "keep images and snapshots on one xfs or btrfs, make the volume with btrfs, or ask for a full copy"}
	}
	return copySparse(ctx, to, from)
}

// copySparse copies the parts of a file that aren't holes.
func copySparse(ctx context.Context, to, from *os.File) error {
	st, err := from.Stat()
	if err != nil {
		return err
	}
	if err := extend(to, st.Size()); err != nil {
		return err
	}
	buffer := make([]byte, 1<<20)
	for at := int64(0); at < st.Size(); {
		if at, err = from.Seek(at, unix.SEEK_DATA); errors.Is(err, unix.ENXIO) {
			return nil // The rest is a hole.
		} else if err != nil {
			return err
		}
		end, err := from.Seek(at, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		for ; at < end; at += int64(len(buffer)) {
			if err := ctx.Err(); err != nil {
				return err
			}
			part := io.NewSectionReader(from, at, min(end-at, int64(len(buffer))))
			if _, err := io.CopyBuffer(struct{ io.Writer }{io.NewOffsetWriter(to, at)}, struct{ io.Reader }{part}, buffer); err != nil {
				return err
			}
		}
		at = end
	}
	return nil
}

// Clone makes an image at the path to from a snapshot, with UUIDs of its own: both can be mounted at once. A clone of an encrypted
// image has the same key.
func Clone(ctx context.Context, snapshot, to string, o SnapshotOptions) error {
	im, err := open(ctx, snapshot)
	if err != nil {
		return fmt.Errorf("clone: %w", err)
	}
	defer im.Close()
	return create(to, func(f *os.File) error {
		if err := im.still(ctx, func() error { return duplicate(ctx, f, im.File, o) }); err != nil {
			return err
		}
		if im.header != nil {
			return settleEncrypted(ctx, f, o.Key)
		}
		if err := settle(ctx, f); err != nil {
			return err
		}
		return filesystem.NewUUID(ctx, f.Name(), im.super.Kind)
	})
}

// settleEncrypted gives an encrypted copy new UUIDs: LUKS, and the file system in it.
func settleEncrypted(ctx context.Context, f *os.File, k key.Source) error {
	if err := luks.NewUUID(ctx, f.Name()); err != nil {
		return err
	}
	im := &opened{File: f}
	if err := im.read(f.Name()); err != nil {
		return err
	}
	d, err := im.attach(ctx, k)
	if err != nil {
		return err
	}
	switch im.super.Kind {
	case filesystem.XFS:
		err = filesystem.Settle(d.File)
	case filesystem.Btrfs:
		err = clean(f, im.super)
	}
	if err == nil {
		err = filesystem.NewUUID(ctx, d.Name(), im.super.Kind)
	}
	return errors.Join(err, d.end(ctx))
}

// clean refuses a btrfs whose journal is to be replayed. Beside the original, the kernel would take it for the same file system.
func clean(f *os.File, s filesystem.Super) error {
	if s.Dirty {
		return fmt.Errorf("%s was taken while it was written to: mount it alone once, and take a snapshot of that", f.Name())
	}
	return nil
}

// settle replays the journal of an image that isn't mounted, so that its UUID can be changed. A frozen xfs has one to be replayed.
func settle(ctx context.Context, f *os.File) error {
	s, err := filesystem.ReadSuper(f)
	if err != nil {
		return err
	}
	switch s.Kind {
	case filesystem.Ext4:
		return filesystem.Check(ctx, f, s)
	case filesystem.Btrfs:
		return clean(f, s)
	}
	d, err := loop.Attach(f)
	if err != nil {
		return err
	}
	return errors.Join(filesystem.Settle(d), (&disk{d, d}).end(ctx))
}

// Restore replaces an image, which must not be mounted, by a snapshot of it. It may be missing.
func Restore(ctx context.Context, snapshot, path string, o SnapshotOptions) error {
	from, err := open(ctx, snapshot)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	defer from.Close()
	if old, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0); err == nil {
		defer old.Close()
		if err := idle(old); err != nil {
			return fmt.Errorf("restore %s: %w", path, err)
		}
	}
	if err := filelock.Write(path, prefix, func(f *os.File) error { return duplicate(ctx, f, from.File, o) }); err != nil {
		return fmt.Errorf("restore %s: %w", path, err)
	}
	return syncFolder(filepath.Dir(path))
}

// idle locks an image, damaged or not, and refuses one that is attached.
func idle(f *os.File) error {
	if err := filelock.Alone(f); err != nil {
		return fmt.Errorf("another call uses it: %w", err)
	}
	d, err := loop.Find(f)
	if err != nil || d == nil {
		return err
	}
	defer d.Close()
	return fmt.Errorf("it is attached to %s: unmount it first", d.Name())
}
