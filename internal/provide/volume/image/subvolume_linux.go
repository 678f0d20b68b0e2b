package image

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/provide/volume/key"
	"plimsoll/internal/text/refusal"
)

// restoringName is the subvolume that is to replace the volume's folder, and then the one that it has replaced.
const restoringName = "restoring"

// Subsnapshot takes a snapshot of a volume with btrfs, mounted or not, as a subvolume beside its folder: Subpath. It needs no freezing:
// btrfs does it in one transaction.
func Subsnapshot(ctx context.Context, path, name string, k key.Source) error {
	return within(ctx, path, k, func(t *filesystem.Tree, snapshots *os.File) error {
		data, err := t.Folder(dataName, true)
		if err != nil {
			return err
		}
		defer data.Close()
		return filesystem.SnapshotSubvolume(data, snapshots, name, true)
	})
}

// Subremove removes a snapshot that Subsnapshot has taken. One that is missing is no error.
func Subremove(ctx context.Context, path, name string, k key.Source) error {
	return within(ctx, path, k, func(_ *filesystem.Tree, snapshots *os.File) error {
		return filesystem.RemoveSubvolume(snapshots, name)
	})
}

// Subrestore replaces a volume's folder by a snapshot that Subsnapshot has taken. It must not be mounted. A kill leaves the old folder or
// the new one.
func Subrestore(ctx context.Context, path, name string, k key.Source) error {
	return within(ctx, path, k, func(t *filesystem.Tree, snapshots *os.File) error {
		return replaceFolder(t, snapshots, name)
	})
}

func replaceFolder(t *filesystem.Tree, snapshots *os.File, name string) error {
	if err := filesystem.RemoveSubvolume(t.File, restoringName); err != nil { // A killed call has left it.
		return err
	}
	from, err := filesystem.OpenFolder(snapshots, name)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := filesystem.SnapshotSubvolume(from, t.File, restoringName, false); err != nil {
		return err
	}
	if err := t.Exchange(dataName, restoringName); err != nil {
		return err
	}
	return filesystem.RemoveSubvolume(t.File, restoringName)
}

// Subclone makes an image at the path to, as Clone does, whose folder is a snapshot that Subsnapshot has taken. It has no snapshots.
func Subclone(ctx context.Context, path, name, to string, o SnapshotOptions) error {
	if err := Clone(ctx, path, to, o); err != nil {
		return err
	}
	return within(ctx, to, o.Key, func(t *filesystem.Tree, snapshots *os.File) error {
		if err := replaceFolder(t, snapshots, name); err != nil {
			return err
		}
		names, err := namesIn(snapshots)
		for _, n := range names {
			err = errors.Join(err, filesystem.RemoveSubvolume(snapshots, n))
		}
		return err
	})
}

// within calls f with the file system of an image with btrfs, mounted or not, and the folder of its snapshots. An encrypted image needs its key, unless it is
// mounted.
func within(ctx context.Context, path string, k key.Source, f func(t *filesystem.Tree, snapshots *os.File) error) error {
	im, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer im.Close()
	if im.header == nil && im.super.Kind != filesystem.Btrfs { // Without a repair of it.
		return im.noBtrfs()
	}
	d, err := im.attached(ctx)
	if err == nil && d == nil {
		d, err = im.attach(ctx, k)
	}
	if err != nil {
		return err
	}
	defer d.Close()
	if im.super.Kind != filesystem.Btrfs {
		return im.noBtrfs()
	}
	t, err := im.tree(d)
	if err != nil {
		return err
	}
	defer t.Close()
	// The volume's folder first: a file system that has others alone is damaged.
	if err := im.notLost(d, t); err != nil {
		return err
	}
	data, err := t.Folder(dataName, true)
	if err != nil {
		return full(path, err)
	}
	data.Close()
	snapshots, err := t.Folder(snapshotsName, false)
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

// noBtrfs refuses snapshots inside other file systems.
func (im *opened) noBtrfs() error {
	return &refusal.Error{What: "a snapshot inside " + im.Name(), Why: string(im.super.Kind) + " has none", Fix: "make the volume with btrfs, or take a snapshot of the image"}
}
