package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/host/luks"
	"plimsoll/internal/provide/profile"
	"plimsoll/internal/provide/volume/image"
	"plimsoll/internal/provide/volume/key"
	"plimsoll/internal/text/size"
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
	if err := os.Mkdir(v.target(), 0o755); err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
		return Mounted{}, err
	}
	o := image.MountOptions{Discard: v.Profile.Provision != profile.Thick, Key: keyOf(v)}
	if c := v.Profile.Service.Compression; c.Enabled {
		o.Compression = c.Algorithm
	}
	if err := v.large(ctx); err != nil {
		return Mounted{}, err
	}
	m, err := image.Mount(ctx, v.image(), v.target(), o)
	if errors.Is(err, image.ErrMissing) {
		return Mounted{}, fmt.Errorf("%w; its data is lost unless there is a copy: plimsoll volume rm %s removes the record", err, v.Name)
	}
	return Mounted{Root: m.Root, Note: m.Note}, err
}

// large makes the image as large as the volume's capacity: it may be a snapshot from before the volume grew.
func (v Volume) large(ctx context.Context) error {
	st, err := os.Lstat(v.image())
	if err != nil || !st.Mode().IsRegular() || st.Size() >= v.imageSize() || st.Size() == 0 {
		return nil //nolint:nilerr // Mount says what is wrong.
	}
	i, err := image.Describe(ctx, v.image())
	if err != nil || i.Size < i.FilesystemSize {
		return err
	}
	return image.Grow(ctx, v.image(), v.Profile.Capacity, v.Profile.Provision == profile.Thick, keyOf(v))
}

func (local) root(v Volume) (string, error) {
	at, err := mountedAt(v.target())
	if at == "" || err != nil {
		return "", err
	}
	return image.Root(at), nil
}

// detachWait is how long an unmount waits for the volume's device to be detached. A container that another program starts meanwhile may have a copy of all
// mounts, for seconds on a busy machine, and Podman waits 5 s for an answer. The kernel detaches the device later, and a mount before takes it again.
const detachWait = 2 * time.Second

func (local) unmount(ctx context.Context, v Volume) error {
	if _, err := os.Lstat(v.target()); errors.Is(err, fs.ErrNotExist) {
		return nil // Nothing can be mounted there.
	}
	ctx, cancel := context.WithTimeout(ctx, detachWait)
	defer cancel()
	err := image.Unmount(ctx, v.target())
	if busy, ok := errors.AsType[*image.BusyError](err); ok && busy.Unmounted {
		return nil
	}
	if err != nil {
		return err
	}
	return closeLeft(v, v.Folder)
}

func (local) elsewhere(v Volume) (bool, error) {
	if at, err := mountedAt(v.target()); at == "" || err != nil {
		return false, err
	}
	return image.Elsewhere(v.target())
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

// carried is the profile of a copy of the volume's data: without encryption if the volume has none, whatever the machine of the copy can.
func (v Volume) carried() profile.Profile {
	p := v.Profile
	if v.Plain {
		p.Service.Encryption = profile.Encryption{}
	}
	return p
}

// imageSize is the least size of a volume's image.
func (v Volume) imageSize() int64 {
	if keyOf(v).None() {
		return v.Profile.Capacity
	}
	return v.Profile.Capacity + luks.HeaderSize
}

func (local) change(ctx context.Context, old, new Volume) error {
	if new.Profile.Capacity == old.Profile.Capacity {
		return nil
	}
	return image.Grow(ctx, new.image(), new.Profile.Capacity, new.Profile.Provision == profile.Thick, keyOf(new))
}

func (l local) examine(ctx context.Context, v Volume) error {
	if _, err := l.space(v); err != nil {
		return err
	}
	_, err := image.Describe(ctx, v.image())
	return err
}

func (l local) space(v Volume) (s Space, err error) {
	st, err := os.Lstat(v.image())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, fmt.Errorf("%w: %s", image.ErrMissing, v.image())
	case err != nil:
		return s, err
	case st.Size() < v.imageSize():
		return s, fmt.Errorf("%w: %s has %s", image.ErrTruncated, v.image(), size.Bytes(st.Size()))
	}
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

func (local) snapshots() snapshotter { return local{} }
