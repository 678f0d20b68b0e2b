package docker

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/docker/go-units"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"plimsoll/internal/container/dockerapi"
)

// hostPID returns pid if that process is visible here and belongs to the container, else 0: the daemon may report ids of
// another namespace.
func hostPID(pid int, container string) int {
	if pid <= 0 || container == "" {
		return 0
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil || !strings.Contains(string(b), container) {
		return 0
	}
	return pid
}

// upperDir returns the host's path of the writable layer of process pid's root, if that is an overlay.
func upperDir(pid int) string {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		return ""
	}
	defer f.Close()
	ms, err := mountinfo.GetMountsFromReader(f, mountinfo.SingleEntryFilter("/"))
	if err != nil || len(ms) == 0 || ms[0].FSType != "overlay" {
		return ""
	}
	for _, o := range strings.Split(ms[0].VFSOptions, ",") {
		if upper, ok := strings.CutPrefix(o, "upperdir="); ok && filepath.IsAbs(upper) {
			return upper
		}
	}
	return ""
}

// ownUlimits are limits that even a daemon without CAP_SYS_RESOURCE can give: this process's own hard limits, at most
// fallback.
func ownUlimits(fallback int64) []*units.Ulimit {
	limit := func(name string, resource int) *units.Ulimit {
		n := fallback
		var r unix.Rlimit
		if unix.Getrlimit(resource, &r) == nil && r.Max < uint64(fallback) {
			n = int64(r.Max)
		}
		return &units.Ulimit{Name: name, Soft: n, Hard: n}
	}
	return []*units.Ulimit{limit(ulimitNofile, unix.RLIMIT_NOFILE), limit(ulimitNproc, unix.RLIMIT_NPROC)}
}

// socketPeer returns the user and group of the process that listens on a socket of this machine.
func socketPeer(host string) (uid, gid int, ok bool) {
	path, ok := strings.CutPrefix(host, "unix://")
	if !ok {
		return 0, 0, false
	}
	c, err := net.DialTimeout("unix", path, dockerapi.PingTimeout)
	if err != nil {
		return 0, 0, false
	}
	defer c.Close()
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0, 0, false
	}
	var cred *unix.Ucred
	cerr := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if cerr != nil || err != nil {
		return 0, 0, false
	}
	return int(cred.Uid), int(cred.Gid), true
}
