package image

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/provide/volume/key"
	"plimsoll/internal/text/refusal"
)

// Names in the root of a btrfs. The container sees neither.
const (
	// insideName is the folder with the snapshots.
	insideName = "snapshots"
	// restoredName is the subvolume that a Restore makes, and after it the old content until that is removed.
	restoredName = "restored"
)

// The calls below need the key of an encrypted image, unless it is mounted.

// SnapshotInside makes a read-only snapshot of a btrfs volume in its own image, mounted or not, whatever the image's file system is.
// It shares the volume's capacity.
func SnapshotInside(ctx context.Context, path, name string, k key.Source) error {
	return inBtrfs(ctx, path, name, k, func(_ *opened, t *filesystem.Tree, snapshots *os.File, there []string) error {
		if slices.Contains(there, name) {
			return fmt.Errorf("the snapshot %q: %w", name, ErrExists)
		}
		data, err := t.Folder(dataName, true)
		if err != nil {
			return err
		}
		defer data.Close()
		return filesystem.SnapshotSubvolume(data, snapshots, name, true)
	})
}

// ListInside lists the snapshots in a btrfs image.
func ListInside(ctx context.Context, path string, k key.Source) (names []string, err error) {
	err = inBtrfs(ctx, path, "any", k, func(_ *opened, _ *filesystem.Tree, _ *os.File, there []string) error {
		names = there
		return nil
	})
	slices.Sort(names)
	return names, err
}

// RemoveInside removes a snapshot from a btrfs image. It is no error if there is none.
func RemoveInside(ctx context.Context, path, name string, k key.Source) error {
	return inBtrfs(ctx, path, name, k, func(_ *opened, _ *filesystem.Tree, snapshots *os.File, _ []string) error {
		return filesystem.RemoveSubvolume(snapshots, name)
	})
}

// RestoreInside replaces the content of a btrfs volume, which must not be mounted, by a snapshot in its image.
func RestoreInside(ctx context.Context, path, name string, k key.Source) error {
	return inBtrfs(ctx, path, name, k, func(im *opened, t *filesystem.Tree, snapshots *os.File, there []string) error {
		if !slices.Contains(there, name) {
			return fmt.Errorf("%s has no snapshot %q, but %.20q", path, name, there)
		}
		if im.used {
			return fmt.Errorf("%s is mounted: unmount it first", path)
		}
		from, err := filesystem.OpenFolder(snapshots, name)
		if err != nil {
			return err
		}
		defer from.Close()
		if err := filesystem.RemoveSubvolume(t.File, restoredName); err != nil {
			return err
		}
		if err := filesystem.SnapshotSubvolume(from, t.File, restoredName, false); err != nil {
			return err
		}
		if err := t.Exchange(dataName, restoredName); err != nil {
			return err
		}
		return filesystem.RemoveSubvolume(t.File, restoredName)
	})
}

// inBtrfs opens a btrfs image and the folder of its snapshots, whose names are there.
func inBtrfs(ctx context.Context, path, name string, k key.Source, do func(im *opened, t *filesystem.Tree, snapshots *os.File, there []string) error) error {
	if name == "" || name == "." || name == ".." || len(name) > 255 || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%.300q is no name for a snapshot", name)
	}
	im, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer im.Close()
	if im.header == nil && im.super.Kind != filesystem.Btrfs { // Without a repair of it.
		return noBtrfs(im)
	}
	d, err := im.attached(ctx)
	if err != nil {
		return err
	}
	if im.used = d != nil; !im.used {
		if d, err = im.attach(ctx, k); err != nil {
			return err
		}
	}
	defer d.Close()
	if im.super.Kind != filesystem.Btrfs {
		return noBtrfs(im)
	}
	t, err := im.tree(d)
	if err != nil {
		return err
	}
	defer t.Close()
	snapshots, err := t.Folder(insideName, false)
	if err != nil {
		return err
	}
	defer snapshots.Close()
	there, err := namesIn(snapshots)
	if err != nil {
		return err
	}
	return do(im, t, snapshots, there)
}

// noBtrfs refuses snapshots inside other file systems.
func noBtrfs(im *opened) error {
	return &refusal.Error{What: "a snapshot inside " + im.Name(), Why: string(im.super.Kind) + " has none", Fix: "make the volume with btrfs, or take a snapshot of the image"}
}
