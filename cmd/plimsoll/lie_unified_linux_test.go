package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/host/hierarchy"
	"plimsoll/internal/measure/check"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/watch"
)

// Lies that version 2 of control groups alone can tell.

// TestLieParentLimit: the group above a limited one has a lower limit, and one above a group without limits has one: verify did not know
// what was slower, and show and watch said that there was no limit.
func TestLieParentLimit(t *testing.T) {
	needRun(t)
	parent := disktest.NewUnifiedGroup(t, "io", "memory")
	group := parent.Child(t, "io", "memory")
	loop, dir := disktest.Disk(t, disktest.Options{Size: 256 << 20, Memory: true})
	if err := parent.Put("io.max", disktest.Number(t, loop)+" wbps=1048576"); err != nil {
		t.Fatal(err)
	}
	l := limitLab{target.Options{}, t.TempDir()}
	name, above := "cgroup:"+string(group), "/"+filepath.Base(string(parent))
	l.says(t, exitDone, []string{above + " above it has write_bps=1MiB on " + filepath.Base(loop)}, "show", name)
	wait := inGroup(t, group, "exec dd if=/dev/zero of="+dir+"/file bs=64k count=72 oflag=direct") // 4.5 s.
	r := plimsoll(t, t.Context(), l.state, "", "watch", name, "--once", "--json", "--interval", "2s")
	wait()
	var i watch.Interval
	if err := json.Unmarshal([]byte(r.stdout), &i); err != nil || len(i.Subjects) != 1 {
		t.Fatalf("status %d, %v: %s%s", r.status, err, r.stdout, r.stderr)
	}
	// An emulated processor stands still at times.
	if !slices.ContainsFunc(i.Subjects[0].Rates, func(r watch.Rate) bool {
		return r.Group == above && r.Asked == 1<<20 && r.Seen != nil && *r.Seen > 0.3*(1<<20)
	}) {
		t.Errorf("watch: %s", r.stdout)
	}
	l.says(t, exitCannot, []string{"unproved: ", above + " above it has write_bps of 1MiB"}, "verify", name, "--path", dir, "--write-bps", "8MiB", "--modes", "direct", "--time", "3s")
}

// TestLieParentDirty: the memory limit of the group above plimsoll's own is never reached, and still buffered writes wait for the disk: of a
// limited group's memory only a fifth may be unwritten data.
func TestLieParentDirty(t *testing.T) {
	needRun(t)
	p := newPod(t, hierarchy.Memory)
	if p.version == 1 {
		t.Skip("needs the memory controller of cgroup version 2")
	}
	p.put(t, "", "", "memory.max", fmt.Sprint(256<<20))
	dir := t.TempDir()
	r := p.plimsoll(t, dir, hostPlan("{rw: write, bs: 1MiB, size: 72MiB}"), "run", "-")
	if r.status != 0 {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	_, trials := records(t, dir)
	wantDoubt(t, trials, "host", check.Foreign, "memory=256MiB in "+p.name(), "unwritten data")
}

// TestLieCostModel: iocost holds all groups to what its model says that the device can do, however little that is.
func TestLieCostModel(t *testing.T) {
	needRun(t)
	disktest.NewUnifiedGroup(t, "io")
	if _, err := os.Stat(costQoSFile); err != nil {
		t.Skip("needs iocost, which version 2 of control groups has")
	}
	loop, place := disktest.Disk(t, disktest.Options{Size: 64 << 20, Memory: true})
	number := disktest.Number(t, loop)
	root := disktest.Group("/sys/fs/cgroup")
	t.Cleanup(func() { _ = root.Put("io.cost.qos", number+" enable=0") })
	for file, text := range map[string]string{
		"io.cost.model": " ctrl=user model=linear rbps=1048576 rseqiops=50 rrandiops=50 wbps=1048576 wseqiops=50 wrandiops=50",
		"io.cost.qos":   " enable=1 ctrl=user rpct=0 rlat=0 wpct=0 wlat=0 min=100 max=100",
	} {
		if err := root.Put(file, number+text); err != nil {
			t.Fatal(err)
		}
	}
	p := newPod(t, hierarchy.IO)
	dir := t.TempDir()
	plan := hostPlan("{rw: randread, bs: 4KiB, iodepth: 4, direct: true, size: 1MiB, runtime: 1s}")
	r := p.plimsoll(t, dir, strings.ReplaceAll(plan, "dir: {}", "dir: {path: "+place+"}"), "run", "-")
	if r.status != 0 {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	_, trials := records(t, dir)
	wantDoubt(t, trials, "host", check.Foreign, "iocost", filepath.Base(loop))
}

// TestLiePartition: another group has taken a CPU for itself alone (a partition of the cpuset controller), which no file of the worker's own
// groups says.
func TestLiePartition(t *testing.T) {
	needRun(t)
	p := newPod(t, hierarchy.CPUSet)
	if p.version == 1 {
		t.Skip("needs the cpuset controller of cgroup version 2")
	}
	other := disktest.NewUnifiedGroup(t, "cpuset")
	for _, f := range [][2]string{{"cpuset.cpus", "0"}, {"cpuset.cpus.partition", "root"}} {
		if err := other.Put(f[0], f[1]); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = other.Put("cpuset.cpus.partition", "member") })
	if is := kept(t, other, "cpuset.cpus.partition"); is != "root" {
		t.Skipf("the kernel makes no partition: %s", is)
	}
	dir := t.TempDir()
	r := p.plimsoll(t, dir, hostAndContainer(cpuJob), "run", "-")
	if r.status != 0 {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	_, trials := records(t, dir)
	wantDoubt(t, trials, "host", check.Foreign, "cpus=1")
}

// TestLieLightGroup: the worker's group has so little weight that another's processes get the CPU.
func TestLieLightGroup(t *testing.T) {
	light, heavy := disktest.NewUnifiedGroup(t, "cpu"), disktest.NewUnifiedGroup(t, "cpu")
	warnings, doubt := halted(t, "host", 0, func(t *testing.T, _, trial int, _ time.Duration) {
		for g, weight := range map[disktest.Group]string{light: "1", heavy: "10000"} {
			if err := g.Put("cpu.weight", weight); err != nil {
				t.Fatal(err)
			}
		}
		if err := light.Add(trial); err != nil {
			t.Fatal(err)
		}
		onFirstCPU(trial)
		hog(t, 800*time.Millisecond, "sh", "-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(string(heavy), "cgroup.procs"))
	})
	// The kernel counts a wait when it ends: of one that outlasts the window it is known only that the worker didn't run.
	if doubt("was ready to run, but had no CPU", "of the window") == "" && doubt("did not run", "of the window", "got no CPU time") == "" {
		t.Errorf("no doubt: %q", warnings)
	}
}
