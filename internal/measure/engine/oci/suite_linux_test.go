package oci_test

import (
	"os/exec"
	"testing"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/enginetest"
	"plimsoll/internal/measure/engine/oci"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/paralleltest"
	"plimsoll/internal/testkit/workertest"
)

func TestMain(m *testing.M) { paralleltest.Main(m, 4) }

func TestOCISuite(t *testing.T) {
	enginetest.NeedRoot(t)
	if _, err := exec.LookPath("runc"); err != nil {
		t.Skip("runc is needed")
	}
	enginetest.Suite{
		New: func(t *testing.T) engine.Engine {
			return oci.New(t.TempDir(), workertest.Source(t), exec.LookPath)
		},
		Places: []place.Kind{place.Layer, place.Bind, place.Tmpfs},
		Memory: true,
		Beside: true,
	}.Run(t)
}
