package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/host/loop"
	"plimsoll/internal/host/luks"
	"plimsoll/internal/provide/volume/key"
)

// A disk is the device of an attached image. It stays at least until it is closed.
type disk struct {
	// File is the device with the file system: the loop device, or the encrypted one on it.
	*os.File
	loop *os.File
}

// Close ends the use of both devices.
func (d *disk) Close() error {
	if d.loop == d.File {
		return d.File.Close()
	}
	return errors.Join(luks.Close(d.File), d.loop.Close())
}

// attached returns the device of an image, nil if it has none. An encrypted image whose loop device isn't open has none.
func (im *opened) attached(ctx context.Context) (*disk, error) {
	l, err := loop.Find(im.File)
	if l == nil || err != nil {
		return nil, err
	}
	if im.header == nil {
		return &disk{l, l}, nil
	}
	name, err := luks.Name(im.File)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	m, err := luks.Find(ctx, l, name)
	if m == nil || err != nil {
		return nil, errors.Join(err, l.Close())
	}
	d := &disk{m, l}
	if err := im.readSuper(im.Name(), m); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// suits refuses a key for an image that isn't encrypted, whose data would be written as it is, and the absence of one.
func (im *opened) suits(k key.Source) error {
	switch {
	case im.header == nil && !k.None():
		return fmt.Errorf("%s is not encrypted, and there is %s: another file has replaced it", im.Name(), k)
	case im.header != nil && k.None():
		return fmt.Errorf("%s is encrypted, and its key is not given", im.Name())
	}
	return nil
}

// attach checks an image that isn't attached, and gives it a device.
func (im *opened) attach(ctx context.Context, k key.Source) (*disk, error) {
	if err := im.suits(k); err != nil {
		return nil, err
	}
	if im.header == nil {
		if err := filesystem.Check(ctx, im.File, im.super); err != nil {
			return nil, err
		}
		l, err := loop.Attach(im.File)
		return &disk{l, l}, err
	}
	secret, err := k.Read(ctx)
	if err != nil {
		return nil, err
	}
	defer clear(secret)
	d, err := unlock(ctx, im.File, secret)
	if errors.Is(err, luks.ErrKey) {
		return nil, fmt.Errorf("%s doesn't open %s: %w", k, im.Name(), err)
	}
	if err != nil {
		return nil, err
	}
	if err = im.readSuper(im.Name(), d.File); err == nil {
		err = im.damage(filesystem.Check(ctx, d.File, im.super, im.File), d)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// unlock opens an encrypted file on its loop device. A call that was killed may have left that.
func unlock(ctx context.Context, f *os.File, secret []byte) (*disk, error) {
	name, err := luks.Name(f)
	if err != nil {
		return nil, err
	}
	l, err := loop.Find(f)
	if l == nil && err == nil {
		l, err = loop.Attach(f)
	}
	if err != nil {
		return nil, err
	}
	m, err := luks.Open(ctx, l, name, secret)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &disk{m, l}, nil
}

// encrypt makes an encrypted file system in a file.
func encrypt(ctx context.Context, f *os.File, secret []byte, kind filesystem.Kind, label string) error {
	if err := luks.Format(ctx, f.Name(), secret); err != nil {
		return err
	}
	d, err := unlock(ctx, f, secret)
	if err != nil {
		return err
	}
	return errors.Join(filesystem.MakeEncrypted(ctx, d.Name(), kind, label), d.end(ctx))
}

// damage is the error of a check. For an encrypted image it says how a person gets at the file system.
func (im *opened) damage(err error, d *disk) error {
	var damaged *filesystem.DamagedError
	if im.header == nil || !errors.As(err, &damaged) {
		return err
	}
	const by = "/dev/mapper/repair"
	return &filesystem.DamagedError{Path: im.Name(), Why: damaged.Why,
		Run: "cryptsetup open " + im.Name() + " repair, " + strings.ReplaceAll(damaged.Run, d.Name(), by) + ", and cryptsetup close repair"}
}

// end closes a device that nothing else uses, and waits until it is detached, so that its file can be used directly.
func (d *disk) end(ctx context.Context) error {
	loopPath, file := d.loop.Name(), loop.File(d.loop.Name())
	if err := d.Close(); err != nil {
		return err
	}
	for end := time.Now().Add(clearWait); loop.File(loopPath) == file && file != "" && ctx.Err() == nil && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	return ctx.Err()
}
