// Package loopdisk makes disks of Plimsoll's own: a file system on a loop device whose image lies in the state directory.
//
// A place on such a disk has a device to itself, so that a limit at the device slows no one else down, and what its counters
// say is the place's alone. The device bypasses the page cache of its image where that file system lets it.
//
// A disk is gone after Close: unmounted, detached (the kernel does that with the last use, LO_FLAGS_AUTOCLEAR) and its image
// removed. That of a process that was killed goes with the next Sweep, which knows by a lock who lives.
package loopdisk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"plimsoll/internal/state/filelock"
)

// MinSize is the least size of a disk in bytes: a small ext4 with its journal.
const MinSize = 32 << 20

// Names in a disk's folder.
const (
	imageName = "image"
	mountName = "mnt"
	ownerName = "owner"
)

// A Disk is a file system on a loop device. Close must be called once.
type Disk struct {
	folder string
	owner  *os.File
}

// Path is the folder that it is mounted on.
func (d *Disk) Path() string { return filepath.Join(d.folder, mountName) }

// folderOf is where the disks of a state directory lie.
func folderOf(state string) string { return filepath.Join(state, "disks") }

// Make makes a disk of size bytes, whose space is taken at once. name is unique among the living disks of the
// state directory.
func Make(ctx context.Context, state, name string, size int64) (_ *Disk, err error) {
	if size < MinSize {
		return nil, fmt.Errorf("a disk of %d bytes is too small: %d is the least", size, MinSize)
	}
	if state, err = filepath.Abs(state); err != nil {
		return nil, err
	}
	if name == "" || name != filepath.Base(name) {
		return nil, fmt.Errorf("%q is no name for a disk", name)
	}
	mkfs, err := exec.LookPath("mkfs.ext4")
	if err != nil {
		return nil, errors.New("mkfs.ext4 is not installed: install e2fsprogs")
	}
	d := &Disk{folder: filepath.Join(folderOf(state), name)}
	if err := os.MkdirAll(folderOf(state), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of disks: %w", err)
	}
	if err := os.Mkdir(d.folder, 0o755); err != nil {
		return nil, fmt.Errorf("make a disk: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	if d.owner, err = os.OpenFile(filepath.Join(d.folder, ownerName), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err != nil {
		return nil, fmt.Errorf("make a disk: %w", err)
	}
	if err := filelock.Alone(d.owner); err != nil {
		return nil, fmt.Errorf("make a disk: %w", err)
	}
	return d, d.make(ctx, mkfs, size)
}

// make makes the image, its file system and the mount.
func (d *Disk) make(ctx context.Context, mkfs string, size int64) error {
	image := filepath.Join(d.folder, imageName)
	if err := reserve(image, size); err != nil {
		return fmt.Errorf("make a disk of %d MiB: %w", size>>20, err)
	}
	// Without lazy initialisation, which writes in the background later; no share of the space is root's alone.
	out, err := exec.CommandContext(ctx, mkfs, "-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0", image).CombinedOutput()
	if err != nil {
		return fmt.Errorf("mkfs.ext4 of %s: %w: %.200s", image, err, out)
	}
	if err := os.Mkdir(d.Path(), 0o755); err != nil {
		return fmt.Errorf("make a disk: %w", err)
	}
	return attach(image, d.Path())
}

// Close unmounts the disk and removes it.
func (d *Disk) Close() error {
	err := remove(d.folder)
	if d.owner != nil {
		d.owner.Close()
	}
	return err
}

// remove removes a disk's folder. One that is still mounted is left as it is, for another try.
func remove(folder string) error {
	if err := detach(filepath.Join(folder, mountName)); err != nil {
		return fmt.Errorf("remove disk %s: %w", filepath.Base(folder), err)
	}
	// Its own names alone: should something be mounted there all the same, it stays.
	var errs []error
	for _, name := range []string{mountName, imageName, ownerName, ""} {
		if err := os.Remove(filepath.Join(folder, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove disk: %w", err))
		}
	}
	return errors.Join(errs...)
}

// Sweep removes the disks of processes that are gone, and returns what it removed, in words.
func Sweep(state string) (removed []string, err error) {
	entries, err := os.ReadDir(folderOf(state))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, e := range entries {
		folder := filepath.Join(folderOf(state), e.Name())
		f, err := os.Open(filepath.Join(folder, ownerName))
		if err != nil {
			// It is being made, or removed, or not ours.
			continue
		}
		if filelock.Alone(f) == nil {
			if err := remove(folder); err != nil {
				errs = append(errs, err)
			} else {
				removed = append(removed, "disk "+folder)
			}
		}
		f.Close()
	}
	return removed, errors.Join(errs...)
}
