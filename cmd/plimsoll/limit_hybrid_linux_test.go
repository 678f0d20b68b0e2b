package main

import (
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/testkit/disktest"
)

// TestLimitHybrid: with the I/O controller in version 2 and the memory controller in version 1, a limit holds what a process sends itself,
// and lets past what the kernel writes back: explain says so, verify finds it so, and both name what mends it. The keeper holds what can be held.
func TestLimitHybrid(t *testing.T) {
	needRun(t)
	h, err := explain.Look(device.Host())
	if err != nil {
		t.Fatal(err)
	}
	if h.IO != 2 || h.Memory != 1 {
		t.Skip("needs the io controller in version 2, and the memory controller in version 1")
	}
	group := newIOGroup(t)
	loop, dir := fastDisk(t)
	number := disktest.Number(t, loop)
	l := limitLab{target.Options{}, t.TempDir()}
	name := "cgroup:" + string(group)
	const why, fix = "the memory controller is not in version 2", "cgroup_no_v1=all"
	want := map[string]string{"read": "held", "direct": "held", "dsync": "held", "buffered+fsync": "held", "buffered": "leaks"}
	modes := l.explainsOne(t, exitDone, dir).Modes
	for _, m := range modes {
		if m.Group != want[m.Name] {
			t.Errorf("explain: %s is said to be %q, want %q", m.Name, m.Group, want[m.Name])
		}
	}
	if len(modes) != len(want) {
		t.Errorf("explain has the modes %v, want those of %v", modes, want)
	}
	l.says(t, exitDone, []string{"NO", "the memory controller is", "not in version 2", fix}, "explain", dir)
	rate := l.proveRate(t, name, dir, "direct", "dsync", "buffered+fsync")
	if is := kept(t, group, "io.max"); !strings.HasPrefix(is, number+" rbps=max wbps=") || strings.Contains(is, "\n") {
		t.Errorf("io.max has %q, want a limit of %s alone", is, number)
	}
	l.says(t, exitNotHeld, []string{"limit NOT held: asked", why, "fix: boot with " + fix}, "verify", name, "--path", dir, "--write-bps", rate, "--modes", "buffered", "--time", "5s")
	l.do(t, exitDone, "clear", name)
	keeps(t, group, dir, number)
}
