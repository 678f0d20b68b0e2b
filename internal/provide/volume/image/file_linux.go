package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/host/loop"
	"plimsoll/internal/host/luks"
	"plimsoll/internal/state/filelock"
	"plimsoll/internal/text/size"
)

// An opened image is locked until it is closed.
type opened struct {
	*os.File
	// super is empty while an encrypted image has no device.
	super filesystem.Super
	// header is LUKS's, which is before the data; nil: the image isn't encrypted.
	header *luks.Header
	// size is that of the file.
	size int64
}

// lockPoll is how often a locked image is tried again.
const lockPoll = 5 * time.Millisecond

// open opens an image for reading and writing, and waits until no other call uses it.
func open(ctx context.Context, path string) (*opened, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%w: %s: it is not made again; restore a snapshot, or remove the volume", ErrMissing, path)
		case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EISDIR):
			return nil, fmt.Errorf("%s is %w: it is no regular file", path, ErrNotImage)
		case err != nil:
			return nil, err
		}
		o := &opened{File: f}
		if err = filelock.Alone(f); err == nil {
			err = o.read(path)
		}
		if err == nil {
			return o, nil
		}
		f.Close()
		if !errors.Is(err, filelock.ErrLocked) && !errors.Is(err, errReplaced) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("another call uses %s: %w", path, ctx.Err())
		case <-time.After(lockPoll):
		}
	}
}

// errReplaced says that another file got the image's name before it was locked.
var errReplaced = errors.New("the image was replaced")

// read fills o, and checks that the file is whole.
func (o *opened) read(path string) error {
	st, err := o.Stat()
	if err != nil {
		return err
	}
	if now, err := os.Lstat(path); err != nil || !os.SameFile(st, now) {
		return errReplaced
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is %w: it is no regular file", path, ErrNotImage)
	}
	o.size = st.Size()
	h, encrypted, err := luks.ReadHeader(o)
	switch {
	case err != nil:
		return fmt.Errorf("read the image %s: %w", path, err)
	case encrypted && h.Data >= o.size:
		return fmt.Errorf("%w: %s has %s, all of it LUKS's header; restore a snapshot", ErrTruncated, path, size.Bytes(o.size))
	case encrypted:
		o.header = &h
		return nil
	}
	return o.readSuper(path, o)
}

// readSuper reads the file system of the image at path, from the file or its device.
func (o *opened) readSuper(path string, from io.ReaderAt) (err error) {
	o.super, err = filesystem.ReadSuper(from)
	switch {
	case errors.Is(err, filesystem.ErrNone) && o.size == 0:
		return fmt.Errorf("%w: %s has 0 bytes; restore a snapshot", ErrTruncated, path)
	case errors.Is(err, filesystem.ErrNone):
		return fmt.Errorf("%s is %w: %w", path, ErrNotImage, err)
	case err != nil:
		return fmt.Errorf("read the image %s: %w", path, err)
	case o.super.Size > o.capacity():
		return fmt.Errorf("%w: %s has %s of its file system's %s; restore a snapshot", ErrTruncated, path, size.Bytes(o.capacity()), size.Bytes(o.super.Size))
	}
	return nil
}

// capacity is the size of the device with the file system.
func (o *opened) capacity() int64 {
	if o.header == nil {
		return o.size
	}
	return o.size - o.header.Data
}

// Describe returns what an image is.
func Describe(ctx context.Context, path string) (Info, error) {
	o, err := open(ctx, path)
	if err != nil {
		return Info{}, err
	}
	defer o.Close()
	n, err := Allocated(path)
	if o.header != nil {
		return Info{Encrypted: true, Size: o.capacity(), Allocated: n, UUID: o.header.UUID}, err
	}
	return Info{false, o.super.Kind, o.size, n, o.super.Size, o.super.UUID, o.super.Label}, err
}

// Allocated returns how many bytes an image takes of its disk. It doesn't wait for other calls.
func Allocated(path string) (int64, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return 0, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return st.Blocks * 512, nil
}

// prefix begins the name of an unfinished image, behind a dot.
const prefix = "plimsoll-image-"

// Sweep removes what killed processes have left in a folder, and lists it: unfinished images by their names, and open devices of
// encrypted images that nothing uses, by their paths.
func Sweep(dir string) (removed []string, err error) {
	within, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	closed, err := luks.Sweep(func(device string) bool { return filepath.Dir(loop.File(device)) == within })
	removed, serr := filelock.Sweep(dir, prefix)
	return append(closed, removed...), errors.Join(err, serr)
}

// create makes the image at path, which fill fills, under a temporary name beside it. It appears at path whole.
func create(path string, fill func(f *os.File) error) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("make the image %s: %w", path, ErrExists)
	}
	f, err := filelock.Create(filepath.Dir(path), "."+prefix+"*")
	if err != nil {
		return fmt.Errorf("make the image %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
		err = errors.Join(err, f.Close())
	}()
	if err = fill(f); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = publish(f.Name(), path)
	}
	if errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("make the image %s: %w: %w", path, ErrFull, err)
	}
	if err != nil {
		return fmt.Errorf("make the image %s: %w", path, err)
	}
	return nil
}

// publish gives a file its name, which must be free.
func publish(from, to string) error {
	err := eintr.Retry(func() error { return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE) })
	if errors.Is(err, unix.EINVAL) { // Network file systems and FUSE may not have it.
		if err = os.Link(from, to); err == nil {
			err = os.Remove(from)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return ErrExists
	}
	if err != nil {
		return err
	}
	return syncFolder(filepath.Dir(to))
}

// syncFolder makes the names of a folder survive a power cut.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
