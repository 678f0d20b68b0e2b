//go:build !linux

package image

import (
	"context"
	"errors"
	"io"
	"os"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/provide/volume/key"
)

// Create fails: images need Linux.
func Create(context.Context, string, Spec) error { return errors.ErrUnsupported }

// Describe fails: images need Linux.
func Describe(context.Context, string) (Info, error) { return Info{}, errors.ErrUnsupported }

// Allocated fails: images need Linux.
func Allocated(string) (int64, error) { return 0, errors.ErrUnsupported }

// Sweep removes nothing: images need Linux.
func Sweep(string) ([]string, error) { return nil, nil }

// Reserve fails: images need Linux.
func Reserve(context.Context, string) error { return errors.ErrUnsupported }

// Mount fails: images need Linux.
func Mount(context.Context, string, string, MountOptions) (Mounted, error) {
	return Mounted{}, errors.ErrUnsupported
}

// Check fails: images need Linux.
func Check(context.Context, string, bool, key.Source) error { return errors.ErrUnsupported }

// Unmount fails: images need Linux.
func Unmount(context.Context, string) error { return errors.ErrUnsupported }

// Grow fails: images need Linux.
func Grow(context.Context, string, int64, bool, key.Source) error { return errors.ErrUnsupported }

// Snapshot fails: images need Linux.
func Snapshot(context.Context, string, string, SnapshotOptions) error { return errors.ErrUnsupported }

// Clone fails: images need Linux.
func Clone(context.Context, string, string, SnapshotOptions) error { return errors.ErrUnsupported }

// Restore fails: images need Linux.
func Restore(context.Context, string, string, SnapshotOptions) error { return errors.ErrUnsupported }

// Usage fails: images need Linux.
func Usage(string) (filesystem.Space, error) { return filesystem.Space{}, errors.ErrUnsupported }

// Trim fails: images need Linux.
func Trim(string) (int64, error) { return 0, errors.ErrUnsupported }

// Freeze fails: images need Linux.
func Freeze(string) (func() error, error) { return nil, errors.ErrUnsupported }

// Thaw fails: images need Linux.
func Thaw(string) error { return errors.ErrUnsupported }

// Elsewhere fails: images need Linux.
func Elsewhere(string) (bool, error) { return false, errors.ErrUnsupported }

// Device fails: images need Linux.
func Device(string) (*os.File, device.Number, error) {
	return nil, device.Number{}, errors.ErrUnsupported
}

// Subsnapshot fails: images need Linux.
func Subsnapshot(context.Context, string, string, key.Source) error { return errors.ErrUnsupported }

// Subremove fails: images need Linux.
func Subremove(context.Context, string, string, key.Source) error { return errors.ErrUnsupported }

// Subrestore fails: images need Linux.
func Subrestore(context.Context, string, string, key.Source) error { return errors.ErrUnsupported }

// Subclone fails: images need Linux.
func Subclone(context.Context, string, string, string, SnapshotOptions) error {
	return errors.ErrUnsupported
}

// Diff fails: images need Linux.
func Diff(context.Context, string, string, io.Writer) error { return errors.ErrUnsupported }

// Patch fails: images need Linux.
func Patch(context.Context, string, string, io.Reader) error { return errors.ErrUnsupported }

// Own fails: images need Linux.
func Own(string) (int64, error) { return 0, errors.ErrUnsupported }
