package disktest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/ownertest"
)

// notes record what the tests make, so that a later process can remove it if this one is killed. Each note is a kind and a path.
var notes = ownertest.Notes{Kind: "disktest", Remove: takeAway}

func noteMount(t testing.TB, dir string)  { t.Helper(); notes.Add(t, "mount "+dir) }
func noteLoop(t testing.TB, image string) { t.Helper(); notes.Add(t, "loop "+image) }
func noteGroup(t testing.TB, dir string)  { t.Helper(); notes.Add(t, "group "+dir) }

// takeAway removes a mount, a loop device or a group that a killed process noted.
func takeAway(what string) error {
	kind, path, _ := strings.Cut(what, " ")
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return fmt.Errorf("%q is not a note", what)
	}
	switch kind {
	case "mount":
		return unmountFrom(path)
	case "loop":
		return detachKilled(path)
	case "group":
		return removeKilledGroup(path)
	}
	return fmt.Errorf("%q is not a note", what)
}

// unmountFrom unmounts everything at dir and below, in the reverse order.
func unmountFrom(dir string) error {
	mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(dir))
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range slices.Backward(mounts) {
		// A file system with open files is unmounted when the process with the files ends.
		if err := unix.Unmount(m.Mountpoint, unix.MNT_DETACH); err != nil && err != unix.EINVAL && err != unix.ENOENT {
			errs = append(errs, fmt.Errorf("unmount %s: %w", m.Mountpoint, err))
		}
	}
	return errors.Join(errs...)
}

// detachKilled detaches the loop device of a file, and removes the root group's limits for its number.
func detachKilled(image string) error {
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if is := strings.TrimSuffix(strings.TrimSpace(string(text)), " (deleted)"); err != nil || is != image {
			continue
		}
		sys := filepath.Dir(filepath.Dir(file))
		number, err := os.ReadFile(filepath.Join(sys, "dev"))
		if err != nil {
			return err
		}
		for limited, line := range rootLimits(strings.TrimSpace(string(number))) {
			if err := removeRootLimit(limited, line); err != nil {
				return err
			}
		}
		if out, err := exec.Command("losetup", "--detach", "/dev/"+filepath.Base(sys)).CombinedOutput(); err != nil {
			return fmt.Errorf("losetup: %w: %s", err, out)
		}
	}
	return nil
}

// removeKilledGroup removes a group and the groups below, and kills the processes in them.
func removeKilledGroup(dir string) error {
	if !strings.HasPrefix(dir, "/sys/fs/cgroup/") || !strings.HasPrefix(filepath.Base(dir), groupPrefix) {
		return fmt.Errorf("%s is not a group of a test", dir)
	}
	var left error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var groups []string
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				groups = append(groups, path)
			}
			return nil
		})
		if len(groups) == 0 {
			return nil
		}
		for _, g := range slices.Backward(groups) {
			text, _ := os.ReadFile(filepath.Join(g, "cgroup.procs"))
			for _, id := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(id); err == nil && pid > 1 {
					unix.Kill(pid, unix.SIGKILL)
				}
			}
			if left = unix.Rmdir(g); left != nil {
				left = fmt.Errorf("remove %s: %w", g, left)
			}
		}
	}
	return left
}
