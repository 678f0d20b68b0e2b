package volume

import (
	"context"
	"errors"
	"os"

	"plimsoll/internal/provide/profile"
	"plimsoll/internal/provide/volume/image"
	"plimsoll/internal/text/refusal"
)

// Snapshots of the backend local are subvolumes in a btrfs, and otherwise files that share their blocks with the image.

func (local) subvolume(v Volume) bool { return v.Profile.Filesystem == profile.Btrfs }

func (local) take(ctx context.Context, v Volume, p Snapshot, o image.SnapshotOptions) error {
	if p.Subvolume {
		return image.Subsnapshot(ctx, v.image(), p.ID, keyOf(v))
	}
	if err := makeSnapshots(v); err != nil {
		return err
	}
	return shared(v, "a snapshot", image.Snapshot(ctx, v.image(), v.snapshot(p.ID), o))
}

// shared is the error of a copy, in the words of the user if the disk can't share blocks.
func shared(v Volume, what string, err error) error {
	if _, no := errors.AsType[*refusal.Error](err); !no {
		return err
	}
	return &refusal.Error{What: what, Why: "the disk of " + v.Folder + " can't share blocks between files",
		Fix: "use --copy, which copies all data, keep volumes on xfs or btrfs, or make the volume with filesystem: btrfs"}
}

// makeSnapshots makes the folder of the snapshots that are files.
func makeSnapshots(v Volume) error {
	err := os.Mkdir(v.snapshots(), 0o700)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncFolder(v.Folder)
}

func (local) discard(ctx context.Context, v Volume, p Snapshot) error {
	if p.Subvolume {
		return image.Subremove(ctx, v.image(), p.ID, keyOf(v))
	}
	if err := os.Remove(v.snapshot(p.ID)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	_, err := image.Sweep(v.snapshots())
	return err
}

func (local) restore(ctx context.Context, v Volume, p Snapshot) error {
	if p.Subvolume {
		return image.Subrestore(ctx, v.image(), p.ID, keyOf(v))
	}
	// A disk that can't share blocks had to copy them for the snapshot, too.
	if err := image.Restore(ctx, v.snapshot(p.ID), v.image(), image.SnapshotOptions{Copy: true}); err != nil {
		return err
	}
	if v.Profile.Provision == profile.Thick {
		return image.Reserve(ctx, v.image())
	}
	return nil
}

func (local) clone(ctx context.Context, v Volume, p Snapshot, to Volume, o image.SnapshotOptions) error {
	if err := os.Mkdir(to.target(), 0o755); err != nil {
		return err
	}
	o.Key = keyOf(v)
	var err error
	if p.Subvolume {
		err = image.Subclone(ctx, v.image(), p.ID, to.image(), o)
	} else {
		err = image.Clone(ctx, v.snapshot(p.ID), to.image(), o)
	}
	if err == nil && v.Profile.Provision == profile.Thick {
		err = image.Reserve(ctx, to.image())
	}
	return shared(v, "a clone", err)
}
