// Package dockertest starts container daemons for tests: each with its own data root, exec root, pid file and socket in a
// temporary folder, without a bridge and without firewall rules. It never touches a daemon that it did not start.
//
// A daemon takes a few seconds to start, so a package's tests share one of each kind: SharedDocker, SharedPodman,
// SharedContainerd. A test that stops, hangs or configures a daemon, or counts all of its containers, starts one of its own.
//
// PLIMSOLL_DOCKERD names a folder of programs to use instead of the installed ones: dockerd, containerd,
// containerd-shim-runc-v2 and runc, as tools/currentdocker builds them.
package dockertest

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// EnvPrograms names the folder of the programs to use.
const EnvPrograms = "PLIMSOLL_DOCKERD"

// A Daemon is a running daemon of a test's own.
type Daemon struct {
	// Host is its address, as in DOCKER_HOST.
	Host string
	// Dir is its temporary folder, which has all of its files.
	Dir string
	// CgroupParent is the parent of its containers' cgroups, which no other daemon has; empty for Podman.
	CgroupParent string
	// Command begins the command line of the daemon's client: podman or ctr with the flags that name its folders. Env is its
	// environment.
	Command, Env []string
	// config is Docker's daemon.json.
	config string
	// shared is a cgroup that all daemons of its kind use, if this one made it.
	shared string
	// pause names the file with the id of the process that keeps a rootless Podman's namespaces; empty if there is none.
	pause string

	main, containerd *program
	restart          func() (*program, error)
	// mu guards main.
	mu sync.Mutex
}

// Start starts a Docker daemon and stops it when the test ends. If it can't, it skips the test and names the missing
// capability.
func Start(t testing.TB) *Daemon {
	t.Helper()
	return startDocker(t, "{}")
}

// StartWith is Start with a configuration: the text of daemon.json.
func StartWith(t testing.TB, config string) *Daemon {
	t.Helper()
	return startDocker(t, config)
}

// PodmanOptions are the options of Podman's service.
type PodmanOptions struct {
	// NoUlimits keeps Podman's own default resource limits, which a service without CAP_SYS_RESOURCE can't give to containers.
	NoUlimits bool
	// Volumes are the sockets of volume plugins by the names of their drivers.
	Volumes map[string]string
	// Runtime is the path of the OCI runtime; empty is the runc of the PATH.
	Runtime string
	// User, if not 0, runs the service as that user and group: rootless. The user needs no entry in /etc/subuid, because
	// containers then have one user alone, their root.
	User int
}

// Podman starts Podman's service with Docker's API and stops it when the test ends. If it can't, it skips the test.
func Podman(t testing.TB, opt PodmanOptions) *Daemon {
	t.Helper()
	return startPodman(t, opt)
}

// Containerd starts a containerd without Docker, and stops it when the test ends. The test must make its containers in
// Namespace.
func Containerd(t testing.TB) *Daemon {
	t.Helper()
	return startContainerdAlone(t)
}

// Namespace is the containerd namespace for the test's containers. No other daemon has it: runc keeps the containers of a
// namespace in one folder, whichever containerd made them.
func (d *Daemon) Namespace() string { return strings.TrimPrefix(d.CgroupParent, "/") }

// ContainerdState is containerd's state folder, whose contents don't outlive a boot.
func (d *Daemon) ContainerdState() string { return filepath.Join(d.Dir, "containerd-state") }

// Kill kills the daemon at once, as a crash does. Its containers' shims stay.
func (d *Daemon) Kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.main.kill()
}

// Restart starts a killed daemon again, with the same data.
func (d *Daemon) Restart(t testing.TB) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.main.kill()
	p, err := d.restart()
	if err != nil {
		t.Fatalf("restart the daemon: %v", err)
	}
	d.main = p
}

// PID is the daemon's process id.
func (d *Daemon) PID() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.main.pid()
}

// Log returns the daemon's output.
func (d *Daemon) Log() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.main.log()
}
