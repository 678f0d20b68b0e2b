package image

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/host/loop"
	"plimsoll/internal/host/luks"
	"plimsoll/internal/provide/volume/key"
	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/size"
)

// Grow makes an image and its file system larger, mounted or not. If it is killed, another Grow to the same size completes it. thick
// allocates the new blocks; if the disk is full, nothing has changed. An encrypted image needs its key.
func Grow(ctx context.Context, path string, to int64, thick bool, k key.Source) error {
	if err := grow(ctx, path, to, thick, k); err != nil {
		return fmt.Errorf("grow %s: %w", path, err)
	}
	return nil
}

func grow(ctx context.Context, path string, to int64, thick bool, k key.Source) error {
	to, err := round(to)
	if err != nil {
		return err
	}
	im, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer im.Close()
	if had := im.capacity(); to < had {
		return fmt.Errorf("it has %s and can't become smaller, as %s: copy the data to a smaller volume", size.Bytes(had), size.Bytes(to))
	}
	if err := im.suits(k); err != nil {
		return err
	}
	if im.header == nil && to > im.size {
		if err := filesystem.CheckGrow(im.super.Kind, to); err != nil {
			return err
		}
	}
	g := growth{im, to, thick, k}
	d, err := im.attached(ctx)
	if err != nil {
		return err
	}
	if d != nil {
		defer d.Close()
		if !filesystem.MayGrow(im.super.Kind) {
			return &refusal.Error{What: "growing a mounted ext4", Why: "this process lacks CAP_SYS_RESOURCE", Fix: "give it that, or unmount the volume first"}
		}
		return g.online(ctx, d)
	}
	if im.header == nil && !filesystem.MayGrow(im.super.Kind) {
		return g.file(ctx)
	}
	if d, err = im.attach(ctx, k); err != nil {
		return err
	}
	defer d.Close()
	if !filesystem.MayGrow(im.super.Kind) {
		if err := g.widen(ctx, d); err != nil {
			return err
		}
		return im.damage(filesystem.GrowUnmounted(ctx, d.File, im.File), d)
	}
	return g.online(ctx, d)
}

// A growth is what a Grow does.
type growth struct {
	im    *opened
	to    int64
	thick bool
	key   key.Source
}

// online has the kernel grow the file system, on the image's device.
func (g growth) online(ctx context.Context, d *disk) error {
	// Before the image grows: a file system that can't be mounted can't grow.
	t, err := g.im.tree(d)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := g.widen(ctx, d); err != nil {
		return err
	}
	return t.Grow(g.to)
}

// widen makes the image and its device larger.
func (g growth) widen(ctx context.Context, d *disk) error {
	im := g.im
	if im.header == nil {
		if err := im.enlarge(g.to, g.thick); err != nil {
			return err
		}
		return loop.Refresh(d.loop)
	}
	if g.to > im.capacity() { // Its file system wasn't known before.
		if err := filesystem.CheckGrow(im.super.Kind, g.to); err != nil {
			return err
		}
	}
	secret, err := g.key.Read(ctx) // Before anything changes.
	if err != nil {
		return err
	}
	defer clear(secret)
	if err := luks.TryKey(ctx, d.loop, secret); err != nil {
		return fmt.Errorf("%s: %w", g.key, err)
	}
	if err := im.enlarge(g.to+im.header.Data, g.thick); err != nil {
		return err
	}
	if err := loop.Refresh(d.loop); err != nil {
		return err
	}
	return luks.Resize(ctx, luks.NameOf(d.Name()), secret)
}

// file grows an ext4 that isn't attached, without the kernel.
func (g growth) file(ctx context.Context) error {
	if err := filesystem.Check(ctx, g.im.File, g.im.super); err != nil {
		return err
	}
	if err := g.im.enlarge(g.to, g.thick); err != nil {
		return err
	}
	return filesystem.GrowUnmounted(ctx, g.im.File)
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
