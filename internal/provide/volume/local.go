package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/provide/profile"
	"plimsoll/internal/provide/volume/image"
	"plimsoll/internal/provide/volume/key"
)

// local keeps a volume in a disk image.
type local struct{}

func (local) make(ctx context.Context, v Volume) error {
	if err := os.Mkdir(v.target(), 0o755); err != nil {
		return err
	}
	return image.Create(ctx, v.image(), image.Spec{
		Filesystem: filesystem.Kind(v.Profile.Filesystem),
		Size:       v.Profile.Capacity,
		Thick:      v.Profile.Provision == profile.Thick,
		Key:        keyOf(v),
	})
}

func (local) mount(ctx context.Context, v Volume) (Mounted, error) {
	o := image.MountOptions{Discard: v.Profile.Provision != profile.Thick, Key: keyOf(v)}
	if c := v.Profile.Service.Compression; c.Enabled {
		o.Compression = c.Algorithm
	}
	m, err := image.Mount(ctx, v.image(), v.target(), o)
	if errors.Is(err, image.ErrMissing) {
		return Mounted{}, fmt.Errorf("%w; its data is lost unless there is a copy: plimsoll volume rm %s removes the record", err, v.Name)
	}
	return Mounted{Root: m.Root, Note: m.Note}, err
}

func (local) root(v Volume) (string, error) {
	at, err := mountedAt(v.target())
	if at == "" || err != nil {
		return "", err
	}
	return image.Root(at), nil
}

func (local) unmount(ctx context.Context, v Volume) error {
	if err := image.Unmount(ctx, v.target()); err != nil {
		return err
	}
	return closeLeft(v, v.Folder)
}

func (local) release(v Volume, folder string) error { return closeLeft(v, folder) }

// closeLeft closes the device of an encrypted volume that a call which was killed before its mount left open.
func closeLeft(v Volume, folder string) error {
	if keyOf(v).None() {
		return nil
	}
	_, err := image.Sweep(folder)
	return err
}

// keyOf is where the key of a volume comes from; none: it isn't encrypted.
func keyOf(v Volume) key.Source {
	e := v.Profile.Service.Encryption
	if !e.Enabled || v.Plain {
		return key.Source{}
	}
	return key.Source{File: e.KeyFile, Command: e.KeyCommand}
}

func (local) change(ctx context.Context, old, new Volume) error {
	if new.Profile.Capacity == old.Profile.Capacity {
		return nil
	}
	return image.Grow(ctx, new.image(), new.Profile.Capacity, new.Profile.Provision == profile.Thick, keyOf(new))
}

func (l local) space(v Volume) (s Space, err error) {
	if s.Disk, err = image.Allocated(v.image()); err != nil {
		return s, err
	}
	root, err := l.root(v)
	if root == "" || err != nil {
		return s, err
	}
	u, err := image.Usage(v.target())
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil // It was unmounted meanwhile.
	}
	s.Size, s.Used = u.Size, u.Used
	return s, err
}
