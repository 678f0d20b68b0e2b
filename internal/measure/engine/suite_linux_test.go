package engine_test

import (
	"os"
	"os/exec"
	"testing"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/enginetest"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/testkit/paralleltest"
	"plimsoll/internal/testkit/workertest"
)

func TestMain(m *testing.M) { paralleltest.Main(m, 4) }

// needRoot skips a test that needs root.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root is needed")
	}
}

func TestHostSuite(t *testing.T) {
	needRoot(t)
	enginetest.Suite{
		New: func(t *testing.T) engine.Engine {
			return engine.NewHost(t.TempDir(), workertest.Source(t))
		},
		Places: []place.Kind{place.Dir, place.Tmpfs},
	}.Run(t)
}

func TestOCISuite(t *testing.T) {
	needRoot(t)
	if _, err := exec.LookPath("runc"); err != nil {
		t.Skip("runc is needed")
	}
	enginetest.Suite{
		New: func(t *testing.T) engine.Engine {
			return engine.NewOCI(t.TempDir(), workertest.Source(t), exec.LookPath)
		},
		Places: []place.Kind{place.Layer, place.Bind, place.Tmpfs},
		Memory: true,
	}.Run(t)
}

// dockerSuite runs the suite over a daemon of the test's own.
func dockerSuite(t *testing.T, d *dockertest.Daemon) {
	source := workertest.Source(t)
	state := t.TempDir()
	enginetest.Suite{
		New: func(t *testing.T) engine.Engine {
			return engine.NewDocker(engine.DockerOptions{Host: d.Host, StateDir: state, Worker: source})
		},
		Places: []place.Kind{place.Layer, place.Bind, place.Volume, place.Tmpfs},
		Memory: true,
	}.Run(t)
}

func TestDockerSuite(t *testing.T) {
	needRoot(t)
	dockerSuite(t, dockertest.Start(t))
}

func TestPodmanSuite(t *testing.T) {
	needRoot(t)
	dockerSuite(t, dockertest.Podman(t, dockertest.PodmanOptions{}))
}
