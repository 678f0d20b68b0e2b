package disktest

import (
	"os"
	"testing"
)

// TestSchedule: a test's scheduler ends with the test. If a killed test left one on a loop device, the next test doesn't get it.
func TestSchedule(t *testing.T) {
	const other = "mq-deadline"
	device := Loop(t, Image(t, 1<<20), false)
	if got := Scheduler(t, device); got != unscheduled {
		t.Fatalf("a new loop device is scheduled by %q", got)
	}
	t.Run("kept", func(inner *testing.T) {
		Schedule(inner, device, other)
		if got := Scheduler(inner, device); got != other {
			inner.Errorf("scheduled by %q", got)
		}
		Schedule(inner, device, unscheduled)
		reschedule(inner, device, other)
	})
	if got := Scheduler(t, device); got != unscheduled {
		t.Errorf("after the test it is scheduled by %q", got)
	}

	// The kernel assigns the lowest free number: the same, unless another program took it.
	for range 20 {
		image := Image(t, 1<<20)
		killed := Loop(t, image, false)
		KeepScheduler(t, killed)
		if err := os.WriteFile(schedulerFile(killed), []byte(other), 0); err != nil {
			t.Skipf("needs the scheduler %s: %v", other, err)
		}
		Run(t, "losetup", "--detach", killed)
		next := Loop(t, Image(t, 1<<20), false)
		if got := Scheduler(t, next); got != unscheduled {
			t.Fatalf("%s is scheduled by %q, as a test before left it", next, got)
		}
		if next == killed {
			return
		}
	}
	t.Error("no loop device came back")
}
