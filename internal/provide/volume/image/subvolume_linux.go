package image

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/eintr"
	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/host/loop"
)

// restoringName is the subvolume that is to replace the volume's folder, and then the one that it has replaced.
const restoringName = "restoring"

// Subsnapshot takes a snapshot of a volume with btrfs, mounted or not, as a subvolume beside its folder: Subpath. It needs no freezing:
// btrfs does it in one transaction.
func Subsnapshot(ctx context.Context, path, name string) error {
	return within(ctx, path, func(t *filesystem.Tree, snapshots *os.File) error {
		data, err := t.Folder(dataName)
		if err != nil {
			return err
		}
		defer data.Close()
		return filesystem.Subsnapshot(snapshots, name, data, true)
	})
}

// Subremove removes a snapshot that Subsnapshot has taken. One that is missing is no error.
func Subremove(ctx context.Context, path, name string) error {
	return within(ctx, path, func(_ *filesystem.Tree, snapshots *os.File) error {
		return filesystem.DestroySubvolume(snapshots, name)
	})
}

// Subrestore replaces a volume's folder by a snapshot that Subsnapshot has taken. It must not be mounted. A kill leaves the old folder or
// the new one.
func Subrestore(ctx context.Context, path, name string) error {
	return within(ctx, path, func(t *filesystem.Tree, snapshots *os.File) error {
		return replaceFolder(t, snapshots, name)
	})
}

func replaceFolder(t *filesystem.Tree, snapshots *os.File, name string) error {
	if err := filesystem.DestroySubvolume(t.File, restoringName); err != nil { // A killed call has left it.
		return err
	}
	from, err := openIn(snapshots, name)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := filesystem.Subsnapshot(t.File, restoringName, from, false); err != nil {
		return err
	}
	if err := filesystem.Exchange(t.File, dataName, restoringName); err != nil {
		return err
	}
	return filesystem.DestroySubvolume(t.File, restoringName)
}

// Subclone makes an image at the path to, as Clone does, whose folder is a snapshot that Subsnapshot has taken. It has no snapshots.
func Subclone(ctx context.Context, path, name, to string, o SnapshotOptions) error {
	if err := Clone(ctx, path, to, o); err != nil {
		return err
	}
	return within(ctx, to, func(t *filesystem.Tree, snapshots *os.File) error {
		if err := replaceFolder(t, snapshots, name); err != nil {
			return err
		}
		names, err := namesIn(snapshots)
		for _, n := range names {
			err = errors.Join(err, filesystem.DestroySubvolume(snapshots, n))
		}
		return err
	})
}

// within calls f with the file system of an image with btrfs, mounted or not, and the folder of its snapshots.
func within(ctx context.Context, path string, f func(t *filesystem.Tree, snapshots *os.File) error) error {
	im, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer im.Close()
	if im.super.Kind != filesystem.Btrfs {
		return fmt.Errorf("%s has %s, which has no subvolumes", path, im.super.Kind)
	}
	d, err := loop.Find(im.File)
	if err == nil && d == nil {
		d, err = im.attach(ctx)
	}
	if err != nil {
		return err
	}
	defer d.Close()
	t, err := im.tree(d)
	if err != nil {
		return err
	}
	defer t.Close()
	// The volume's folder first: a file system that has others alone is damaged.
	if err := im.notLost(t); err != nil {
		return err
	}
	data, err := t.Folder(dataName)
	if err != nil {
		return full(path, err)
	}
	data.Close()
	snapshots, err := t.PlainFolder(snapshotsName)
	if err != nil {
		return full(path, err)
	}
	defer snapshots.Close()
	if err := f(t, snapshots); errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("the volume is full, and its snapshots take its own space: remove some, or make it larger: %w", err)
	} else if err != nil {
		return err
	}
	return nil
}

// openIn opens a folder in an open one.
func openIn(dir *os.File, name string) (*os.File, error) {
	fd, err := eintr.Value(func() (int, error) {
		return unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &os.PathError{Op: "open the snapshot", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}
