package oci

import (
	"testing"
	"time"

	"plimsoll/internal/measure/engine/enginetest"
)

// TestManualKnowsTimes: the times that the manual gives are those that are waited.
func TestManualKnowsTimes(t *testing.T) {
	enginetest.ManualTimes(t, map[string]time.Duration{
		"a runtime runs the smallest container, as its probe": tryTimeout, "a runtime's container ends by itself": endGrace,
	})
}
