package engine_test

import (
	"testing"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/enginetest"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/workertest"
)

func TestHostSuite(t *testing.T) {
	enginetest.NeedRoot(t)
	enginetest.Suite{
		New: func(t *testing.T) engine.Engine {
			return engine.NewHost(t.TempDir(), workertest.Source(t))
		},
		Places: []place.Kind{place.Dir, place.Tmpfs},
	}.Run(t)
}
