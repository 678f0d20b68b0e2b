package image

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/host/loop"
	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/size"
)

// Grow makes an image and its file system larger, mounted or not. If it is killed, another Grow to the same size completes it. thick
// allocates the new blocks; if the disk is full, nothing has changed.
func Grow(ctx context.Context, path string, to int64, thick bool) error {
	if err := grow(ctx, path, to, thick); err != nil {
		return fmt.Errorf("grow %s: %w", path, err)
	}
	return nil
}

func grow(ctx context.Context, path string, to int64, thick bool) error {
	to, err := round(to)
	if err != nil {
		return err
	}
	im, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer im.Close()
	if to < im.size {
		return fmt.Errorf("it has %s and can't become smaller, as %s: copy the data to a smaller volume", size.Bytes(im.size), size.Bytes(to))
	}
	if to > im.size {
		if err := filesystem.CheckGrow(im.super.Kind, to); err != nil {
			return err
		}
	}
	d, err := loop.Find(im.File)
	if err != nil {
		return err
	}
	if d != nil {
		defer d.Close()
	}
	switch {
	case filesystem.MayGrow(im.super.Kind):
		return im.growMounted(ctx, d, to, thick)
	case d != nil:
		return &refusal.Error{What: "growing a mounted ext4", Why: "this process lacks CAP_SYS_RESOURCE", Fix: "give it that, or unmount the volume first"}
	}
	if err := filesystem.Check(ctx, im.File, im.super); err != nil {
		return err
	}
	if err := im.enlarge(to, thick); err != nil {
		return err
	}
	return filesystem.GrowUnmounted(ctx, im.File)
}

// growMounted has the kernel grow the file system, on the image's device if it has one.
func (im *opened) growMounted(ctx context.Context, d *os.File, to int64, thick bool) (err error) {
	if d == nil {
		if d, err = im.attach(ctx); err != nil {
			return err
		}
		defer d.Close()
	}
	// Before the image grows: a file system that can't be mounted can't grow.
	t, err := im.tree(d)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := im.enlarge(to, thick); err != nil {
		return err
	}
	if err := loop.Refresh(d); err != nil {
		return err
	}
	return t.Grow(to)
}

// enlarge gives the image its new size, durably.
func (im *opened) enlarge(to int64, thick bool) error {
	if to == im.size {
		return nil
	}
	if thick {
		if err := room(im.Name(), to-im.size); err != nil {
			return fmt.Errorf("%w: %w", ErrFull, err)
		}
		// Beyond the end, so that the size is still the old one if there is too little space.
		if err := allocate(im.File, im.size, to-im.size); err != nil {
			return im.shorten(err)
		}
	}
	if err := extend(im.File, to); err != nil {
		return im.shorten(err)
	}
	return im.Sync()
}

// shorten frees the blocks beyond the end, which truncate(2) does even if the size stays.
func (im *opened) shorten(err error) error {
	if errors.Is(err, unix.ENOSPC) {
		err = fmt.Errorf("%w: %w", ErrFull, err)
	}
	if terr := im.Truncate(im.size); terr != nil {
		return errors.Join(err, &os.PathError{Op: "truncate", Path: im.Name(), Err: terr})
	}
	return err
}
