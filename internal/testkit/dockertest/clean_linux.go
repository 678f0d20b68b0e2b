package dockertest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// killBelow kills the processes that outlived their daemon: the shims and monitors whose command line names dir, and those
// in the cgroup.
func killBelow(dir, cgroup string) {
	for range 50 {
		pids := append(pidsBelow(dir), pidsIn(cgroup)...)
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			unix.Kill(pid, unix.SIGKILL)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// killPause kills the process whose id Podman wrote to a file of the test's own.
func killPause(path string) {
	b, err := os.ReadFile(path)
	if err != nil {
		return
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid <= 1 {
		return
	}
	if comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil && isMonitor(string(comm)) {
		unix.Kill(pid, unix.SIGKILL)
	}
}

// pidsBelow returns the shims and monitors whose command line names something below dir.
func pidsBelow(dir string) []int { return pidsNaming(dir, isMonitor) }

// pidsNaming returns the processes of certain programs whose command line names something below dir.
func pidsNaming(dir string, program func(comm string) bool) []int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var pids []int
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(b, []byte(dir+"/")) {
			continue
		}
		// The command line of an editor or a shell may name dir, too.
		comm, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "comm"))
		if !program(string(comm)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func isMonitor(comm string) bool {
	return slices.ContainsFunc([]string{"containerd-shim", "conmon", "runc", "crun", "podman", "catatonit"}, func(s string) bool {
		return strings.HasPrefix(comm, s)
	})
}

// pidsIn returns the processes in a cgroup and the cgroups below, in every hierarchy.
func pidsIn(cgroup string) (pids []int) {
	for _, g := range cgroups(cgroup) {
		b, _ := os.ReadFile(filepath.Join(g, "cgroup.procs"))
		for _, f := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil && pid > 1 {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// unmountBelow unmounts everything below dir, the last mount first.
func unmountBelow(dir string) error {
	ms, err := mountinfo.GetMounts(mountinfo.PrefixFilter(dir))
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range slices.Backward(ms) {
		if err := unix.Unmount(m.Mountpoint, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			errs = append(errs, fmt.Errorf("unmount %s: %w", m.Mountpoint, err))
		}
	}
	return errors.Join(errs...)
}

// removeCgroups removes the cgroup name and the cgroups below, in each hierarchy. A cgroup with a process in it stays.
func removeCgroups(name string) {
	for _, g := range slices.Backward(cgroups(name)) {
		os.Remove(g)
	}
}

// cgroups lists the folders of a cgroup and the cgroups below, parents first, in every hierarchy.
func cgroups(name string) (groups []string) {
	if strings.Trim(name, "/") == "" {
		return nil
	}
	hierarchies, _ := filepath.Glob("/sys/fs/cgroup/*")
	for _, h := range append(hierarchies, "/sys/fs/cgroup") {
		filepath.WalkDir(filepath.Join(h, name), func(path string, e os.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				groups = append(groups, path)
			}
			return nil
		})
	}
	return groups
}
