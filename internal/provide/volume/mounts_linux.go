package volume

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/eintr"
)

// mountedAt returns a folder if something is mounted on it, else "". The list of all mounts would take a hundred times as long.
func mountedAt(folder string) (string, error) {
	var st unix.Statx_t
	err := eintr.Retry(func() error { return unix.Statx(unix.AT_FDCWD, folder, unix.AT_NO_AUTOMOUNT, unix.STATX_TYPE, &st) })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", &os.PathError{Op: "statx", Path: folder, Err: err}
	case st.Attributes&unix.STATX_ATTR_MOUNT_ROOT == 0:
		return "", nil
	}
	return folder, nil
}

// shownElsewhere reports whether another mount namespace, such as a container's, shows a folder of this machine's file systems.
func shownElsewhere(folder string) (bool, error) {
	mounts, err := device.Host().Mounts()
	if err != nil {
		return false, err
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false, err
	}
	own := mountOf(mounts, real)
	if own == nil {
		return false, nil
	}
	// A container has a bind mount of it, whose root in the file system is this.
	root := filepath.Join(own.Root, strings.TrimPrefix(real, own.Point))
	seen := map[string]bool{namespace("self"): true, "": true}
	processes, err := filepath.Glob("/proc/[0-9]*")
	for _, p := range processes {
		pid := filepath.Base(p)
		if n := namespace(pid); seen[n] {
			continue
		} else {
			seen[n] = true
		}
		there, err := device.Host().MountsOf(pid)
		if err != nil {
			continue // It has ended.
		}
		for _, m := range there {
			if m.Number == own.Number && (m.Root == root || strings.HasPrefix(m.Root, root+"/")) {
				return true, nil
			}
		}
	}
	return false, err
}

// mountOf returns the mount that has a path: the last of those with the longest point.
func mountOf(mounts []device.Mount, path string) (own *device.Mount) {
	for i, m := range mounts {
		if (m.Point == "/" || path == m.Point || strings.HasPrefix(path, m.Point+"/")) && (own == nil || len(m.Point) >= len(own.Point)) {
			own = &mounts[i]
		}
	}
	return own
}

// namespace names a process's mount namespace, "" if it has ended.
func namespace(pid string) string {
	name, _ := os.Readlink("/proc/" + pid + "/ns/mnt")
	return name
}

// busyWait is how long a program that has just ended may hold a mount.
const busyWait = 2 * time.Second

// unmountFolder unmounts what is on a folder. Programs in it are an error.
func unmountFolder(ctx context.Context, folder string) error {
	end := time.Now().Add(busyWait)
	for {
		err := eintr.Retry(func() error { return unix.Unmount(folder, unix.UMOUNT_NOFOLLOW) })
		if errors.Is(err, unix.EBUSY) && time.Now().Before(end) && ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		if err != nil {
			return &os.PathError{Op: "unmount", Path: folder, Err: err}
		}
		return nil
	}
}
