package dockerapi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/moby/api/types/system"
)

// TestWhy: each way in which a daemon does not answer has a fix of its own.
func TestWhy(t *testing.T) {
	wrap := func(err error) error { return fmt.Errorf("dial: %w", err) }
	with := func(programs ...string) machine {
		return machine{installed: func(p string) bool { return slices.Contains(programs, p) }, systemd: true, group: "docker"}
	}
	root := with("dockerd")
	root.root, root.systemd = true, false
	rootsOnly := with("dockerd")
	rootsOnly.group = "root"
	for _, x := range []struct {
		host, source string
		cause        error
		here         machine
		missing, fix string
	}{
		{"unix:///s", "", wrap(fs.ErrNotExist), with(), "no daemon's socket at /s", "install Docker or Podman and start it (sudo apt-get install docker.io; sudo systemctl start docker)"},
		{"unix:///s", "", wrap(fs.ErrNotExist), with("dockerd"), "Docker is installed, but its daemon isn't running", "start it: sudo systemctl start docker"},
		{"unix:///s", "", wrap(fs.ErrNotExist), root, "its daemon isn't running", "start it: service docker start, or run dockerd"},
		{"unix:///s", "", wrap(fs.ErrNotExist), with("podman"), "Podman is installed", "sudo systemctl start podman.socket, and DOCKER_HOST=unix:///run/podman"},
		{"unix:///s", "DOCKER_HOST", wrap(fs.ErrNotExist), with("dockerd"), "no daemon's socket at /s, which DOCKER_HOST names", "unset DOCKER_HOST"},
		{"unix:///s", "the docker context far", wrap(fs.ErrNotExist), with("dockerd"), "which the docker context far names", "docker context use default"},
		{"unix:///s", "", wrap(syscall.EACCES), with("dockerd"), "may not use the socket /s", "usermod -aG docker $USER"},
		{"unix:///s", "", wrap(syscall.EACCES), rootsOnly, "may not use the socket /s", "run as root: the socket /s is root's alone"},
		{"unix:///s", "", wrap(syscall.ECONNREFUSED), with("dockerd"), "no daemon listens on it", "start the daemon: sudo systemctl start docker"},
		{"tcp://h:1", "DOCKER_HOST", wrap(syscall.ECONNREFUSED), with("dockerd"), "no daemon listens at tcp://h:1, which DOCKER_HOST names", "unset DOCKER_HOST"},
		{"tcp://h:1", "DOCKER_HOST", wrap(&net.DNSError{Err: "no such host"}), with(), "the machine of tcp://h:1, which DOCKER_HOST names, is not known: no such host", "unset DOCKER_HOST"},
		{"unix:///s", "", wrap(context.DeadlineExceeded), with(), "does not answer in time", "restart"},
		{"tcp://h:1", "DOCKER_HOST", wrap(context.DeadlineExceeded), with(), "tcp://h:1, which DOCKER_HOST names, does not answer in time", "can be reached"},
		{"unix:///s", "", errors.New("teapot"), with(), "teapot", "DOCKER_HOST"},
		{"unix:///s", "", errors.New("readLoopPeekFailLocked: %!w(<nil>)"), with(), "is not a Docker daemon", "DOCKER_HOST"},
		{"npipe:////./pipe/e", "", wrap(fs.ErrNotExist), with(), "no daemon's pipe at //./pipe/e", "install and start Docker Desktop, or Docker Engine and its service (Start-Service docker), or set DOCKER_HOST"},
		{"npipe:////./pipe/e", "", wrap(fs.ErrNotExist), with("docker"), "the docker command is installed, but no daemon is running: no pipe at //./pipe/e", "start Docker Desktop, or the service docker"},
		{"npipe:////./pipe/e", "", wrap(fs.ErrNotExist), with("docker", "dockerd"), "Docker is installed, but its daemon isn't running: no pipe at //./pipe/e", "start its service as an administrator: Start-Service docker"},
		{"npipe:////./pipe/e", "DOCKER_HOST", wrap(fs.ErrNotExist), with("docker"), "no daemon's pipe at //./pipe/e, which DOCKER_HOST names", "unset DOCKER_HOST"},
		{"npipe:////./pipe/e", "the docker context far", wrap(fs.ErrPermission), with(), "may not use the pipe //./pipe/e, which the docker context far names", "net localgroup docker-users %USERNAME% /add"},
		{"npipe:////./pipe/e", "", wrap(context.DeadlineExceeded), with(), "the daemon at //./pipe/e does not answer in time", "Restart-Service docker"},
		{"npipe:////./pipe/e", "", errors.New("teapot"), with(), "teapot", "DOCKER_HOST"},
	} {
		got := why(x.host, x.source, "", x.cause, x.cause, x.here)
		if !strings.Contains(got.Missing, x.missing) || !strings.Contains(got.Fix, x.fix) {
			t.Errorf("why(%s, %q, %v) = %q, %q; want %q, %q", x.host, x.source, x.cause, got.Missing, got.Fix, x.missing, x.fix)
		}
	}
}

func TestElsewhere(t *testing.T) {
	for _, x := range []struct {
		host string
		info system.Info
		want string
	}{
		{"tcp://10.0.0.1:2376", system.Info{}, "over the network"},
		{"unix:///s", system.Info{OperatingSystem: "Docker Desktop"}, "Docker Desktop"},
		{"unix:///s", system.Info{OSType: "plan9"}, "plan9"},
	} {
		if got := elsewhere(x.host, x.info); !strings.Contains(got, x.want) {
			t.Errorf("elsewhere(%s, %+v) = %q, want %q", x.host, x.info, got, x.want)
		}
	}
}
