package docker_test

import (
	"os"
	"testing"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/docker"
	"plimsoll/internal/measure/engine/enginetest"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/testkit/paralleltest"
	"plimsoll/internal/testkit/workertest"
)

func TestMain(m *testing.M) {
	paralleltest.AtOnce(4)
	os.Exit(dockertest.Run(m))
}

// suite runs the suite over a daemon.
func suite(t *testing.T, d *dockertest.Daemon) {
	source := workertest.Source(t)
	state := t.TempDir()
	enginetest.Suite{
		New: func(t *testing.T) engine.Engine {
			return docker.New(docker.Options{Host: d.Host, StateDir: state, Worker: source})
		},
		Places: []place.Kind{place.Layer, place.Bind, place.Volume, place.Tmpfs},
		Memory: true,
		Beside: true,
	}.Run(t)
}

func TestDockerSuite(t *testing.T) {
	enginetest.NeedRoot(t)
	suite(t, dockertest.SharedDocker(t))
}

func TestPodmanSuite(t *testing.T) {
	enginetest.NeedRoot(t)
	suite(t, dockertest.SharedPodman(t))
}
