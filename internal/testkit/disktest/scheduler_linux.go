package disktest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// unscheduled is the scheduler of a new loop device: loop_add asks for none (BLK_MQ_F_NO_SCHED_BY_DEFAULT in
// https://github.com/torvalds/linux/blob/v6.12/drivers/block/loop.c).
const unscheduled = "none"

// Schedule sets a device's I/O scheduler, such as "mq-deadline", and restores the former one at the end of the test: a loop device
// keeps its scheduler for its next file. It skips the test if the kernel doesn't have that scheduler.
func Schedule(t testing.TB, device, name string) {
	t.Helper()
	KeepScheduler(t, device)
	err := os.WriteFile(schedulerFile(device), []byte(name), 0)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		t.Skipf("needs the scheduler %s for %s: %v", name, device, err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// KeepScheduler restores a device's scheduler at the end of the test, also if another program changes it meanwhile.
func KeepScheduler(t testing.TB, device string) {
	t.Helper()
	was := Scheduler(t, device)
	t.Cleanup(func() {
		t.Helper()
		reschedule(t, device, was)
	})
}

// Scheduler returns a device's I/O scheduler; "" if it has no queue of its own.
func Scheduler(t testing.TB, device string) string {
	t.Helper()
	b, err := os.ReadFile(schedulerFile(device))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	// "none [mq-deadline] bfq"
	_, rest, _ := strings.Cut(string(b), "[")
	name, _, _ := strings.Cut(rest, "]")
	return name
}

// reschedule sets a device's scheduler, unless it has that already: a change stops the device for a moment.
func reschedule(t testing.TB, device, name string) {
	t.Helper()
	if now := Scheduler(t, device); now == "" || now == name {
		return
	}
	if err := os.WriteFile(schedulerFile(device), []byte(name), 0); err != nil {
		t.Errorf("the scheduler of %s: %v", device, err)
	}
}

func schedulerFile(device string) string {
	return filepath.Join("/sys/block", filepath.Base(device), "queue/scheduler")
}
