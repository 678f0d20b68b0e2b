package host_test

import (
	"testing"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/enginetest"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/paralleltest"
	"plimsoll/internal/testkit/workertest"
)

func TestMain(m *testing.M) { paralleltest.Main(m, 4) }

func TestHostSuite(t *testing.T) {
	enginetest.NeedRoot(t)
	enginetest.Suite{
		New: func(t *testing.T) engine.Engine {
			return host.New(t.TempDir(), workertest.Source(t))
		},
		Places: []place.Kind{place.Dir, place.Tmpfs},
		Beside: true,
	}.Run(t)
}
