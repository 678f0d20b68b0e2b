package dockerapi

import (
	"context"
	"errors"
	"io/fs"
	"strings"
)

// Docker on Windows listens on a named pipe: dockerd, a service, on //./pipe/docker_engine, and Docker Desktop on that and on
// one of its own, which its context names. The reasons and fixes differ from those of a socket.

// desktopUsers is the group whose members may use Docker Desktop, and the one that dockerd is mostly told to let in
// (https://docs.docker.com/desktop/setup/install/windows-permission-requirements).
const desktopUsers = "docker-users"

// pipeOf is the named pipe of a daemon's address.
func pipeOf(host string) (pipe string, ok bool) { return strings.CutPrefix(host, "npipe://") }

// whyPipe reports why a daemon did not answer on a named pipe. It is false if the reason is the same as for a socket.
func (m *Missing) whyPipe(pipe, named, inside, source string, cause error, here machine) bool {
	switch {
	case errors.Is(cause, fs.ErrNotExist) && source != "":
		m.Missing = "no daemon's pipe at " + pipe + named
		m.Fix = otherAddress(source)
	case errors.Is(cause, fs.ErrNotExist) && here.installed("dockerd"):
		m.Missing = "Docker is installed, but its daemon isn't running: no pipe at " + pipe
		m.Fix = "start its service as an administrator: Start-Service docker; or start Docker Desktop"
	case errors.Is(cause, fs.ErrNotExist) && here.installed("docker"):
		m.Missing = "the docker command is installed, but no daemon is running: no pipe at " + pipe
		m.Fix = "start Docker Desktop, or the service docker as an administrator: Start-Service docker"
	case errors.Is(cause, fs.ErrNotExist):
		m.Missing = "no daemon's pipe at " + pipe
		m.Fix = "install and start Docker Desktop, or Docker Engine and its service (Start-Service docker), or set DOCKER_HOST"
	case errors.Is(cause, fs.ErrPermission):
		m.Missing = "this user may not use the pipe " + pipe + named
		m.Fix = "run as an administrator, or join the group that may: net localgroup " + desktopUsers + " %USERNAME% /add, then log in again"
	case errors.Is(cause, context.DeadlineExceeded):
		m.Missing = "the daemon at " + pipe + inside + " does not answer in time"
		m.Fix = "restart Docker Desktop, or the service docker as an administrator: Restart-Service docker; Get-EventLog Application -Source docker shows its log"
	default:
		return false
	}
	return true
}
