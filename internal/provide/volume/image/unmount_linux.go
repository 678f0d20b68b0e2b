package image

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/loop"
	"plimsoll/internal/host/luks"
)

const (
	// busyWait is how long a process that has just ended may hold the mount.
	busyWait = 2 * time.Second
	// clearWait is how long the device may stay attached. The kernel detaches it a moment later. But a container that is being started
	// meanwhile has a copy of all mounts, and keeps them until its runtime has left the host's root: seconds on a busy machine.
	clearWait = 30 * time.Second
)

// Unmount unmounts an image from a folder, and waits until its devices are gone. If it isn't mounted, nothing happens. If it
// is in use, the error is a *BusyError.
func Unmount(ctx context.Context, target string) error {
	at, err := mountedAt(target)
	if err != nil || at == nil {
		return err
	}
	name := luks.NameOf(at.Source)
	below := luks.Below(name)
	if name == "" && strings.HasPrefix(at.Source, "/dev/loop") {
		below = at.Source
	}
	if below == "" {
		return &os.PathError{Op: "unmount", Path: target, Err: errors.New("no volume's image is mounted there, but " + at.FSType + " of " + at.Source)}
	}
	file := loop.File(below)
	seen := filesOf(target)
	err = unix.Unmount(target, unix.UMOUNT_NOFOLLOW)
	for end := time.Now().Add(busyWait); errors.Is(err, unix.EBUSY) && time.Now().Before(end) && ctx.Err() == nil; err = unix.Unmount(target, unix.UMOUNT_NOFOLLOW) {
		time.Sleep(20 * time.Millisecond)
	}
	if errors.Is(err, unix.EBUSY) {
		return &BusyError{Target: target, Users: users(at, seen)}
	}
	if err != nil {
		return &os.PathError{Op: "unmount", Path: target, Err: err}
	}
	if err := cleared(ctx, at, target, below, file, seen); err != nil {
		return err
	}
	luks.Forget(name)
	return nil
}

// cleared waits until the loop device below a mount that was ended has another file, or none.
func cleared(ctx context.Context, at *device.Mount, target, below, file string, seen []uint64) error {
	mounts, err := device.Host().Mounts()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if m.Source == at.Source {
			return nil // It is mounted on another folder as well.
		}
	}
	wait := time.Millisecond
	for end := time.Now().Add(clearWait); loop.File(below) == file && file != ""; wait = min(2*wait, 20*time.Millisecond) {
		if time.Now().After(end) || ctx.Err() != nil {
			return &BusyError{Target: target, Unmounted: true, Users: users(at, seen)}
		}
		time.Sleep(wait)
	}
	return nil
}
