package worker

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/eintr"
	"plimsoll/internal/measure/wire"
)

// describePlace adds what Linux knows of the worker's surroundings. What can't be read is left empty: a hostile or bare
// container may have no /proc.
func describePlace(h *wire.Hello) {
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		h.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	h.Seccomp = seccompMode("/proc/self/status")
	h.Mount = mountOf(h.Dir)
}

// seccompMode reads the Seccomp line of a status file; -1 if there is none.
func seccompMode(path string) int {
	f, err := os.Open(path)
	if err != nil {
		return -1
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if v, ok := strings.CutPrefix(s.Text(), "Seccomp:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(v))
			if err != nil {
				return -1
			}
			return n
		}
	}
	return -1
}

// mountOf finds the mount under dir: the one with the longest mount point that contains dir, and of equals the last, which
// lies on top.
func mountOf(dir string) device.Mount {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return device.Mount{}
	}
	infos, err := mountinfo.GetMounts(nil)
	if err != nil {
		return device.Mount{}
	}
	var best *mountinfo.Info
	for _, m := range infos {
		within := m.Mountpoint == "/" || real == m.Mountpoint || strings.HasPrefix(real, m.Mountpoint+"/")
		if within && (best == nil || len(m.Mountpoint) >= len(best.Mountpoint)) {
			best = m
		}
	}
	if best == nil {
		return device.Mount{}
	}
	mount := device.Mount{
		FSType:  best.FSType,
		Options: best.Options + "," + best.VFSOptions,
		Source:  best.Source,
		Root:    best.Root,
		Point:   best.Mountpoint,
		Number:  device.Number{Major: uint32(best.Major), Minor: uint32(best.Minor)},
	}
	var st unix.Stat_t
	if eintr.Retry(func() error { return unix.Stat(real, &st) }) == nil {
		mount.Number = device.NumberOf(st.Dev)
	}
	for _, o := range strings.Split(best.VFSOptions, ",") {
		if v, ok := strings.CutPrefix(o, "upperdir="); ok {
			mount.Upper = v
		}
	}
	return mount
}

// preferAsVictim makes the kernel choose the trial, not the agent, when the group is out of memory: the agent survives to
// report it. Raising the score needs no privilege.
func preferAsVictim(pid int) {
	os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("1000"), 0)
}
