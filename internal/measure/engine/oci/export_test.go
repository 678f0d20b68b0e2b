package oci

import (
	"time"

	"plimsoll/internal/measure/engine"
)

// SetTryTimeout gives an engine's runtimes less time to run the smallest container.
func SetTryTimeout(e engine.Engine, d time.Duration) { e.(*Engine).tryTimeout = d }
