package engine_test

import (
	"os"
	"os/exec"
	"testing"

	"plimsoll/internal/engine"
	"plimsoll/internal/engine/enginetest"
	"plimsoll/internal/place"
	"plimsoll/internal/workertest"
)

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
