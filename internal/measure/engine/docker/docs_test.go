package docker

import (
	"testing"
	"time"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/measure/engine/enginetest"
)

// TestManualKnowsTimes: the times that the manual gives are those that are waited.
func TestManualKnowsTimes(t *testing.T) {
	enginetest.ManualTimes(t, map[string]time.Duration{
		"a daemon answers a ping": dockerapi.PingTimeout, "a daemon starts the container of its probe": probeTimeout,
		"a daemon starts a session": openTimeout, "a daemon ends a session": defaultCloseTimeout, "a daemon reports how a container ended": endWait,
	})
}
