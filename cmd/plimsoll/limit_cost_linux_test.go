package main

import (
	"os"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/testkit/disktest"
)

const (
	costQoSFile   = "/sys/fs/cgroup/io.cost.qos"
	costModelFile = "/sys/fs/cgroup/io.cost.model"
)

// TestLimitCostRefuses: what can't be read is refused with what to write, and where iocost isn't, that is said.
func TestLimitCostRefuses(t *testing.T) {
	needRun(t)
	l := limitLab{target.Options{}, t.TempDir()}
	loop := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	l.says(t, exitUsage, []string{"nothing is asked for"}, "cost", loop)
	l.says(t, exitUsage, []string{"/dev/plimsoll-no-such is not a block device"}, "cost", "/dev/plimsoll-no-such", "--qos", "enable=1")
	l.says(t, exitUsage, []string{"/dev/null is not a block device"}, "cost", "/dev/null", "--qos", "enable=1")
	if _, err := os.Stat(costQoSFile); err == nil {
		return // iocost is here: TestLimitCostReal tries it.
	}
	l.says(t, exitCannot, []string{": io.cost.qos: iocost is version 2's, and blkio is mounted as version 1 here", "let bfq schedule the disk"}, "cost", loop, "--qos", "enable=1")
}

// TestLimitCostReal: the kernel takes what cost writes, and what it prints brings back what was there.
func TestLimitCostReal(t *testing.T) {
	if _, err := os.Stat(costQoSFile); err != nil {
		t.Skip("needs iocost, which version 2 of control groups has")
	}
	l := limitLab{target.Options{}, t.TempDir()}
	loop, _ := fastDisk(t)
	number := disktest.Number(t, loop)
	line := func(file string) string {
		t.Helper()
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for s := range strings.Lines(string(b)) {
			if rest, ok := strings.CutPrefix(s, number+" "); ok {
				return strings.TrimSpace(rest)
			}
		}
		return ""
	}
	t.Cleanup(func() { _ = os.WriteFile(costQoSFile, []byte(number+" enable=0"), 0) })
	model := "rbps=500000000,rseqiops=80000,rrandiops=60000,wbps=400000000,wseqiops=70000,wrandiops=50000"
	l.says(t, exitDone, []string{"would write", "enable=1"}, "cost", loop, "--qos", "rpct=95,rlat=5ms", "--dry-run")
	if s := line(costQoSFile); strings.Contains(s, "enable=1") {
		t.Fatalf("--dry-run has written %q", s)
	}
	l.says(t, exitDone, []string{"for all its users", "to restore: echo"}, "cost", loop, "--qos", "rpct=95,rlat=5ms", "--model", model)
	if s := line(costQoSFile); !strings.Contains(s, "enable=1") || !strings.Contains(s, "rpct=95.00 rlat=5000") {
		t.Errorf("io.cost.qos has %q", s)
	}
	if s := line(costModelFile); !strings.Contains(s, "ctrl=user") || !strings.Contains(s, strings.ReplaceAll(model, ",", " ")) {
		t.Errorf("io.cost.model has %q", s)
	}
	l.says(t, exitDone, []string{`"edits": []`}, "cost", loop, "--model", model, "--json")
	l.says(t, exitDone, []string{"unchanged"}, "cost", loop, "--qos", "rpct=95,rlat=5ms", "--model", model)
	l.says(t, exitDone, []string{"enable=0"}, "cost", loop, "--qos", "enable=0")
	if s := line(costQoSFile); !strings.Contains(s, "enable=0") {
		t.Errorf("turned off, io.cost.qos has %q", s)
	}
}
