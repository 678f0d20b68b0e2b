//go:build !linux

package dockertest

import "testing"

// program is the daemon's process, which only Linux has.
type program struct{}

func (*program) pid() int    { return 0 }
func (*program) kill()       {}
func (*program) log() string { return "" }

func startDocker(t testing.TB, _ string) *Daemon {
	t.Helper()
	t.Skip("needs Linux, to start a Docker daemon")
	return nil
}

func startPodman(t testing.TB, _ PodmanOptions) *Daemon {
	t.Helper()
	t.Skip("needs Linux, to start Podman's service")
	return nil
}

func startContainerdAlone(t testing.TB) *Daemon {
	t.Helper()
	t.Skip("needs Linux, to start containerd")
	return nil
}
