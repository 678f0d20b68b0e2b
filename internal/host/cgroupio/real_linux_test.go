package cgroupio

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"plimsoll/internal/host/device"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/testkit/disktest"
)

// ownGroups puts a sleeping process in a new group of every hierarchy that has one of the controllers, and removes everything at the
// end.
func ownGroups(t *testing.T, controllers ...hierarchy.Controller) int {
	t.Helper()
	var groups []disktest.Group
	made := map[string]bool{}
	for _, c := range controllers {
		g, err := groupOf(device.Host(), "self", c)
		if err != nil {
			t.Skipf("needs the %s controller: %v", c.V2, err)
		}
		if !made[g.Root] { // Version 2 has one hierarchy for all.
			made[g.Root] = true
			groups = append(groups, disktest.NewGroup(t, g.Root))
		}
	}
	sleeper := exec.Command("sleep", "600")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = sleeper.Process.Kill()
		_ = sleeper.Wait()
	})
	for _, g := range groups {
		if err := g.Add(sleeper.Process.Pid); err != nil {
			t.Fatal(err)
		}
	}
	return sleeper.Process.Pid
}

func TestRealGroups(t *testing.T) {
	pid := ownGroups(t, hierarchy.IO, hierarchy.CPU)
	throttled, err := ReadThrottles(device.Host(), pid)
	self, gerr := groupOf(device.Host(), "self", hierarchy.CPU)
	if gerr != nil {
		t.Fatal(gerr)
	}
	if root := (&hierarchy.Group{Controller: hierarchy.CPU, Version: self.Version, Dir: self.Root}); !root.ForChildren() {
		// The root group gives the controller to no child, and the test may not change that.
		if len(throttled) > 0 && throttled[0].Path != "/" {
			t.Errorf("ReadThrottles without the cpu controller = %v", throttled)
		}
	} else if err != nil || len(throttled) == 0 || throttled[0].Periods != 0 {
		t.Errorf("ReadThrottles = %v, %v, want no stops of a new group", throttled, err)
	}
	s, err := device.Host().Of(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	read, written, version, err := ReadCgroupIO(device.Host(), pid, s.Device)
	switch {
	case version == 0:
		t.Errorf("no version of the io controller: %v", err)
	case errors.Is(err, ErrNotCounted):
		// A kernel since 6.10 on which no limit was ever set: the error must say so.
	case err != nil || read != 0 || written != 0:
		t.Errorf("ReadCgroupIO = %d, %d, v%d, %v, want zeros of a new group", read, written, version, err)
	}
	if _, _, _, err := ReadCgroupIO(device.Host(), os.Getpid(), s.Device); !errors.Is(err, ErrShared) {
		t.Errorf("ReadCgroupIO of the test's own process: %v, want ErrShared", err)
	}
}
