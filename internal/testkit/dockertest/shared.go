package dockertest

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
)

// A shared daemon is started by the first test that asks for it, and lasts until all tests of the package have ended.
type shared struct {
	start func(testing.TB) *Daemon

	mu sync.Mutex
	// d is nil until it is asked for.
	d       *Daemon
	starter *starter
}

var (
	sharedDocker     = shared{start: Start}
	sharedPodman     = shared{start: func(t testing.TB) *Daemon { return Podman(t, PodmanOptions{}) }}
	sharedContainerd = shared{start: Containerd}
)

// SharedDocker returns the Docker daemon that a package's tests share. Names of containers, volumes and images must differ
// from those of other tests, and each test removes what it made. A test that stops, hangs or configures the daemon, or that
// counts all that it has, starts one of its own. The package's TestMain must call Run.
func SharedDocker(t testing.TB) *Daemon { t.Helper(); return sharedDocker.get(t) }

// SharedPodman returns the Podman service that a package's tests share, as SharedDocker does.
func SharedPodman(t testing.TB) *Daemon { t.Helper(); return sharedPodman.get(t) }

// SharedContainerd returns the containerd that a package's tests share, as SharedDocker does.
func SharedContainerd(t testing.TB) *Daemon { t.Helper(); return sharedContainerd.get(t) }

// Run runs a package's tests, stops their shared daemons, and returns the exit status. It is for TestMain.
func Run(m *testing.M) int {
	status := m.Run()
	for _, s := range []*shared{&sharedDocker, &sharedPodman, &sharedContainerd} {
		if !s.stop(status != 0) {
			status = max(status, 1)
		}
	}
	return status
}

func (s *shared) get(t testing.TB) *Daemon {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.d != nil {
		return s.d
	}
	s.starter = &starter{TB: t}
	defer func() {
		if s.d == nil { // The test failed, or was skipped; another one may ask again.
			s.starter.end()
		}
	}()
	s.d = s.start(s.starter)
	return s.d
}

// stop stops a daemon that was started, and reports whether that went well.
func (s *shared) stop(failed bool) (well bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.d == nil {
		return true
	}
	s.d = nil
	s.starter.over, s.starter.failed = true, failed
	s.starter.end()
	return !s.starter.wrong
}

// A starter replaces the test that starts a shared daemon. Its cleanups run when all tests have ended, and log to standard
// error.
type starter struct {
	testing.TB
	cleanups []func()
	// over is set when all tests have ended, and failed if one of them did.
	over, failed bool
	// wrong is set if a cleanup failed.
	wrong bool
}

func (s *starter) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

func (s *starter) end() {
	for _, f := range slices.Backward(s.cleanups) {
		f()
	}
}

func (s *starter) Failed() bool { return s.over && s.failed || !s.over && s.TB.Failed() }

func (s *starter) Logf(format string, args ...any) {
	if !s.over {
		s.TB.Helper()
		s.TB.Logf(format, args...)
		return
	}
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

func (s *starter) Errorf(format string, args ...any) {
	if !s.over {
		s.TB.Helper()
		s.TB.Errorf(format, args...)
		return
	}
	s.wrong = true
	s.Logf(format, args...)
}
