// Package loopdisk makes disks for Plimsoll's own use: a file system on a loop device whose image is in the state directory.
//
// A place on such a disk has a device to itself: a limit at the device slows no other program down, and the device counts only the
// place's I/O. The device bypasses the page cache of its image if that file system can.
//
// Close removes the disk: it unmounts it, which detaches the device (LO_FLAGS_AUTOCLEAR), and removes the image. Undo removes the
// disk of a process that was killed, which the journal records.
package loopdisk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/state/journal"
)

// MinSize is the least size of a disk in bytes: a small ext4 with its journal.
const MinSize = 32 << 20

// Kind is the kind of a disk's entry in the journal. The entry's id is the disk's name.
const Kind = "loop-disk"

// Names in a disk's folder.
const (
	imageName = "image"
	mountName = "mnt"
)

// A Disk is a file system on a loop device. Close must be called once.
type Disk struct {
	journal      *journal.Journal
	folder, name string
}

// Path is the folder on which the disk is mounted.
func (d *Disk) Path() string { return filepath.Join(d.folder, mountName) }

// folderOf returns the folder with the disks of a state directory.
func folderOf(state string) string { return filepath.Join(state, "disks") }

// Make makes a disk of size bytes, and allocates its space at once. name is unique among the living disks of the state directory; if
// another has it, the error is a journal.OwnedError.
func Make(ctx context.Context, j *journal.Journal, state, name string, size int64) (_ *Disk, err error) {
	if size < MinSize {
		return nil, fmt.Errorf("a disk of %d bytes is too small: %d is the least", size, MinSize)
	}
	if state, err = filepath.Abs(state); err != nil {
		return nil, err
	}
	if name == "" || name != filepath.Base(name) {
		return nil, fmt.Errorf("%q is not a name for a disk", name)
	}
	d := &Disk{j, filepath.Join(folderOf(state), name), name}
	if _, err := os.Lstat(d.folder); err == nil {
		return nil, fmt.Errorf("make a disk: %s exists already", d.folder)
	}
	if err := j.Put(ctx, Kind, name, map[string][]string{"paths": {d.folder}}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if err := os.MkdirAll(d.folder, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of a disk: %w", err)
	}
	return d, d.make(ctx, size)
}

// make makes the image, its file system and the mount.
func (d *Disk) make(ctx context.Context, size int64) error {
	image := filepath.Join(d.folder, imageName)
	f, err := os.OpenFile(image, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("make a disk: %w", err)
	}
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		return fmt.Errorf("make a disk of %d MiB: %w", size>>20, err)
	}
	if err := filesystem.Make(ctx, image, filesystem.Ext4, ""); err != nil {
		return err
	}
	// After mkfs.ext4, which makes a hole of all that it doesn't write to.
	if err := reserve(image, size); err != nil {
		return fmt.Errorf("make a disk of %d MiB: %w", size>>20, err)
	}
	if err := os.Mkdir(d.Path(), 0o755); err != nil {
		return fmt.Errorf("make a disk: %w", err)
	}
	return attach(image, d.Path())
}

// Close unmounts the disk and removes it.
func (d *Disk) Close() error {
	if err := remove(d.folder); err != nil {
		return err
	}
	return d.journal.Remove(Kind, d.name)
}

// remove removes a disk's folder. If the disk is still mounted, it leaves the folder for another try.
func remove(folder string) error {
	if err := detach(filepath.Join(folder, mountName)); err != nil {
		return fmt.Errorf("remove disk %s: %w", filepath.Base(folder), err)
	}
	// Only the disk's own names: if something is mounted there after all, it stays.
	var errs []error
	for _, name := range []string{mountName, imageName, ""} {
		if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove disk: %w", err))
		}
	}
	return errors.Join(errs...)
}

// Undo removes the disk of a dead owner from a state directory.
func Undo(state string) journal.Undo {
	return func(_ context.Context, e journal.Entry) (removed []string, err error) {
		if e.ID != filepath.Base(e.ID) {
			return nil, fmt.Errorf("%q is no name of a disk", e.ID)
		}
		folder := filepath.Join(folderOf(state), e.ID)
		if err := remove(folder); err != nil {
			return nil, err
		}
		return []string{"disk " + folder}, nil
	}
}
