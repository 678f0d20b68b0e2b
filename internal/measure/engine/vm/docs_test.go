package vm

import (
	"testing"
	"time"

	"plimsoll/internal/measure/engine/enginetest"
)

// TestManualKnowsTimes: the times that the manual gives are those that are waited.
func TestManualKnowsTimes(t *testing.T) {
	enginetest.ManualTimes(t, map[string]time.Duration{
		"a virtual machine boots": bootPatience, "a virtual machine with KVM answers for the first time": kvmPatience, "a saved virtual machine resumes": goOnPatience,
	})
}
