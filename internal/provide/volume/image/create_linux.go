package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/host/luks"
	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/size"
)

// block is what sizes are rounded to.
const block = 4096

// round rounds a size up to whole blocks.
func round(n int64) (int64, error) {
	if n <= 0 || n > math.MaxInt64-block {
		return 0, fmt.Errorf("%d bytes is no size for a volume", n)
	}
	return (n + block - 1) / block * block, nil
}

// Create makes an image.
func Create(ctx context.Context, path string, s Spec) error {
	kind := cmp.Or(s.Filesystem, filesystem.Ext4)
	n, err := round(s.Size)
	if err == nil {
		err = filesystem.CheckMake(kind, s.Label, n)
	}
	if err != nil {
		return fmt.Errorf("make the image %s: %w", path, err)
	}
	format := func(f *os.File) error { return filesystem.Make(ctx, f.Name(), kind, s.Label) }
	if !s.Key.None() {
		secret, err := s.Key.Read(ctx) // Before anything is made.
		if err != nil {
			return fmt.Errorf("make the image %s: %w", path, err)
		}
		defer clear(secret)
		n += luks.HeaderSize
		format = func(f *os.File) error { return encrypt(ctx, f, secret, kind, s.Label) }
	}
	return create(path, func(f *os.File) error {
		if s.Thick {
			if err := room(f.Name(), n); err != nil {
				return err
			}
		}
		if err := extend(f, n); err != nil {
			return err
		}
		if err := format(f); err != nil {
			return full(f.Name(), err)
		}
		if s.Thick { // After mkfs, which makes holes.
			return allocate(f, 0, n)
		}
		return nil
	})
}

// extend gives a file a size, which its file system must be able to hold.
func extend(f *os.File, n int64) error {
	err := f.Truncate(n)
	if errors.Is(err, unix.EFBIG) || errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("the file system of %s has no files of %s: choose a smaller size, or another folder: %w", filepath.Dir(f.Name()), size.Bytes(n), err)
	}
	return err
}

// allocate gives a file all of the blocks from offset on, also beyond its end, whose place stays. Written blocks stay as they are.
func allocate(f *os.File, offset, n int64) error {
	err := eintr.Retry(func() error { return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, offset, n) })
	switch {
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
		return &refusal.Error{What: "a thick volume in " + filepath.Dir(f.Name()), Why: "its file system can't allocate blocks in advance (fallocate)",
			Fix: "make a thin volume, or keep it on ext4, xfs, btrfs or tmpfs"}
	case err != nil:
		return fmt.Errorf("allocate %s: %w", size.Bytes(n), err)
	}
	return nil
}

// room refuses to allocate more bytes than the disk has. The kernel would fill it first.
func room(path string, n int64) error {
	free, err := freeAt(filepath.Dir(path))
	if err != nil || free >= n {
		return err
	}
	return fmt.Errorf("%s has %s free of the %s wanted: %w", filepath.Dir(path), size.Bytes(free), size.Bytes(n), unix.ENOSPC)
}

// little is the free space with which a program that failed ran out of space.
const little = 1 << 20

// full adds to the failure of a program that the disk is full, if it is.
func full(path string, err error) error {
	if free, ferr := freeAt(filepath.Dir(path)); ferr == nil && free < little {
		return fmt.Errorf("%s has %s free: %w: %w", filepath.Dir(path), size.Bytes(free), unix.ENOSPC, err)
	}
	return err
}

func freeAt(dir string) (int64, error) {
	d, err := os.Open(dir)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	s, err := filesystem.SpaceOf(d)
	return s.Free, err
}

// Reserve allocates the blocks that a thick image lost, to a snapshot or because the file system zeroed a part of its device. It may
// be mounted.
func Reserve(ctx context.Context, path string) error {
	o, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer o.Close()
	if err := allocate(o.File, 0, o.size); err != nil {
		return fmt.Errorf("reserve %s: %w", path, err)
	}
	return nil
}
