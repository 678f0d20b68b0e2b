// Package dockertest starts container daemons for tests: each with its own data root,
// exec root, pid file and socket in a temporary folder, without a bridge and without
// firewall rules. It never touches a daemon that it did not start.
//
// A daemon takes a few seconds to start, so a package's tests share one of each
// kind: SharedDocker, SharedPodman, SharedContainerd. A test that stops, hangs or
// configures a daemon, or counts all that it has, starts one of its own.
//
// PLIMSOLL_DOCKERD names a folder with other programs than the installed ones:
// dockerd, containerd, containerd-shim-runc-v2 and runc, as
// tools/currentdocker builds them.
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
	// Dir is its temporary folder: everything that it keeps is below.
	Dir string
	// CgroupParent is the cgroup above those of its containers, unique to it;
	// empty for Podman.
	CgroupParent string
	// Command is how the program that goes with it is called, apart from its subcommand: podman
	// or ctr with their folders. Env is its environment.
	Command, Env []string
	// config is Docker's daemon.json.
	config string
	// shared is a cgroup that all of its kind use, made by this one.
	shared string
	// pause names the file with the id of the process that keeps a rootless Podman's
	// namespaces; empty if there is none.
	pause string

	main, containerd *program
	restart          func() (*program, error)
	// mu guards main.
	mu sync.Mutex
}

// Start starts a Docker daemon and stops it when the test ends. The test is
// skipped, with the missing capability named, where none can be started.
func Start(t testing.TB) *Daemon {
	t.Helper()
	return startDocker(t, "{}")
}

// StartWith is Start with a configuration: the text of daemon.json.
func StartWith(t testing.TB, config string) *Daemon {
	t.Helper()
	return startDocker(t, config)
}

// PodmanOptions say how Podman's service is started.
type PodmanOptions struct {
	// NoUlimits leaves Podman's own resource limits in place, which a service without
	// CAP_SYS_RESOURCE can't give to containers.
	NoUlimits bool
	// Runtime is the path of the OCI runtime; empty is the runc of the PATH.
	Runtime string
	// User, if not 0, runs the service as that user and group: rootless. The user needs no
	// entry in /etc/subuid, as containers then have one user, their root.
	User int
}

// Podman starts Podman's service with Docker's API and stops it when the test ends. The
// test is skipped where that can't be.
func Podman(t testing.TB, opt PodmanOptions) *Daemon {
	t.Helper()
	return startPodman(t, opt)
}

// Containerd starts a containerd without Docker, and stops it when the test ends. Its
// containers are to be in Namespace.
func Containerd(t testing.TB) *Daemon {
	t.Helper()
	return startContainerdAlone(t)
}

// Namespace is containerd's for the test's containers. runc keeps all containers of one name,
// of any containerd, in one folder, so it is the daemon's own.
func (d *Daemon) Namespace() string { return strings.TrimPrefix(d.CgroupParent, "/") }

// ContainerdState is the folder of the containerd for what doesn't outlive a boot.
func (d *Daemon) ContainerdState() string { return filepath.Join(d.Dir, "containerd-state") }

// Kill kills the daemon at once, as a crash does. Its containers' shims stay.
func (d *Daemon) Kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.main.kill()
}

// Restart starts a daemon again that was killed, on the same data.
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

// Log is what the daemon wrote.
func (d *Daemon) Log() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.main.log()
}
