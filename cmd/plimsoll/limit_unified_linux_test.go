package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/texttest"
)

// kept is what a group's file has, in one line.
func kept(t *testing.T, g disktest.Group, file string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(string(g), file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// TestLimitUnifiedVerify: version 2 holds all four modes, also what is written back later: with the io and the memory controller it is
// charged to the group that wrote, on each of the file systems that report the writer. max removes the limit, and the keeper restores it.
func TestLimitUnifiedVerify(t *testing.T) {
	needRun(t)
	disktest.NewUnifiedGroup(t, "io", "memory") // Skips where there is none.
	for kind, modes := range map[string][]string{
		"ext4": {"direct", "dsync", "buffered+fsync", "buffered"},
		// They differ in what their own threads write.
		"xfs": {"buffered"}, "btrfs": {"buffered+fsync", "buffered"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel() // A limited process mostly waits.
			group := disktest.NewUnifiedGroup(t, "io", "memory")
			loop, dir := disktest.Disk(t, disktest.Options{Kind: kind, Size: 1 << 30, Memory: true})
			l := limitLab{target.Options{}, t.TempDir()}
			name := "cgroup:" + string(group)
			l.proveRate(t, name, dir, modes...)
			l.do(t, exitDone, "clear", name)
			if is := kept(t, group, "io.max"); is != "" {
				t.Errorf("cleared, io.max has %q", is)
			}
			if kind != "ext4" {
				return
			}
			if text := l.do(t, exitNotHeld, "verify", name, "--path", dir, "--write-bps", "256KiB", "--modes", "direct", "--time", "3s"); !strings.Contains(text, "limit NOT held: asked 256 KiB/s") {
				t.Errorf("without a limit: %s", text)
			}
			keeps(t, group, dir, disktest.Number(t, loop))
		})
	}
}

// notGiven asks for a limit on I/O, and for others, for a group that has no io controller as its parent doesn't give it on.
func notGiven(t *testing.T, parent, group disktest.Group, others map[string]string) {
	t.Helper()
	loop, _ := fastDisk(t)
	l := limitLab{target.Options{}, t.TempDir()}
	args := []string{"set", "cgroup:" + string(group), "--device", loop, "--write-bps", "2MiB"}
	before := map[string]string{}
	for flag, file := range others {
		args = append(args, strings.Fields(flag)...)
		before[file] = kept(t, group, file)
	}
	text := l.do(t, exitCannot, args...)
	control := filepath.Join(string(parent), "cgroup.subtree_control")
	texttest.Has(t, text, []string{filepath.Base(string(group)), "the io controller is not given to this group: " + control + " does not list it", "echo +io > " + control})
	for file, was := range before {
		if is := kept(t, group, file); is != was {
			t.Errorf("refused, %s has %q, want %q", file, is, was)
		}
	}
	l.do(t, exitCannot, append(args, "--dry-run")...)
	for _, command := range [][]string{{"show"}, {"clear"}} {
		if text := l.do(t, exitDone, append(command, "cgroup:"+string(group))...); strings.Contains(text, "write_bps=") {
			t.Errorf("%s: %s", command, text)
		}
	}
	if b, err := os.ReadFile(control); err != nil || strings.Contains(string(b), "io") {
		t.Errorf("%s has %q, %v", control, b, err)
	}
}

// TestLimitUnifiedNotGivenRoot: where the root doesn't give the io controller on, that is said, with what gives it.
func TestLimitUnifiedNotGivenRoot(t *testing.T) {
	needRun(t)
	const root = disktest.Group("/sys/fs/cgroup")
	if b, err := os.ReadFile(filepath.Join(string(root), "cgroup.subtree_control")); err != nil || strings.Contains(string(b), "io") {
		t.Skip("needs a root group of cgroup version 2 that doesn't give the io controller on")
	}
	group := disktest.NewUnifiedGroup(t, "memory")
	notGiven(t, root, group, map[string]string{"--memory 64MiB": "memory.max"})
}

// TestLimitUnifiedNotGiven: where a group further down holds it back, that one is named, and no other limit that was asked for is set.
func TestLimitUnifiedNotGiven(t *testing.T) {
	needRun(t)
	parent := disktest.NewUnifiedGroup(t, "io", "memory", "cpu")
	group := parent.Child(t, "memory", "cpu")
	notGiven(t, parent, group, map[string]string{"--memory 64MiB": "memory.max", "--cpus 0.5": "cpu.max", "--cpu-shares 512": "cpu.weight"})
	// The command in the message mends it.
	if out, err := exec.Command("sh", "-c", "echo +io > "+string(parent)+"/cgroup.subtree_control").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	loop, _ := fastDisk(t)
	l := limitLab{target.Options{}, t.TempDir()}
	l.do(t, exitDone, "set", "cgroup:"+string(group), "--device", loop, "--write-bps", "2MiB", "--memory", "64MiB")
	if is := group.Line(t, "io.max", disktest.Number(t, loop)); is != "rbps=max wbps=2097152 riops=max wiops=max" || kept(t, group, "memory.max") != "67108864" {
		t.Errorf("given, io.max has %q, memory.max %s", is, kept(t, group, "memory.max"))
	}
}

// TestLimitUnifiedWeights: iocost divides a disk by weight when it is asked to, and the last clear turns it off again.
func TestLimitUnifiedWeights(t *testing.T) {
	needRun(t)
	group, other := disktest.NewUnifiedGroup(t, "io"), disktest.NewUnifiedGroup(t, "io")
	if _, err := os.Stat(costQoSFile); err != nil {
		t.Skip("needs iocost, which version 2 of control groups has")
	}
	loop, dir := fastDisk(t)
	number, disk := disktest.Number(t, loop), filepath.Base(loop)
	disktest.Schedule(t, loop, "none")
	t.Cleanup(func() { _ = os.WriteFile(costQoSFile, []byte(number+" enable=0"), 0) })
	l := limitLab{target.Options{}, t.TempDir()}
	name, neighbor := "cgroup:"+string(group), "cgroup:"+string(other)
	root := disktest.Group("/sys/fs/cgroup")
	has := func(when string, on bool, weight string) {
		t.Helper()
		qos := root.Line(t, "io.cost.qos", number)
		if is := strings.HasPrefix(qos, "enable=1"); is != on {
			t.Errorf("%s: io.cost.qos has %q, want it on: %v", when, qos, on)
		}
		if is := group.Line(t, "io.weight", number); is != weight {
			t.Errorf("%s: io.weight has %q, want %q", when, kept(t, group, "io.weight"), weight)
		}
	}
	set := []string{"set", name, "--device", loop, "--weight", "200"}
	l.says(t, exitCannot, []string{disk, "--enable-weights does that"}, set...)
	has("refused", false, "")
	l.says(t, exitDone, []string{"set weight=200", "weights take effect on " + disk + " by iocost", "for all its users; plimsoll limit clear restores the earlier setting"}, append(set, "--enable-weights=iocost")...)
	has("enabled", true, "200")
	l.says(t, exitDone, []string{"unchanged"}, set...)
	l.says(t, exitDone, []string{"weight=200"}, "show", name)
	l.says(t, exitDone, []string{"set weight=50"}, "set", neighbor, "--device", loop, "--weight", "50", "--enable-weights=iocost")
	if is := other.Line(t, "io.weight", number); is != "50" {
		t.Errorf("the neighbor's io.weight has %q", is)
	}
	// A share's effect depends on the others: verify has no figure to hold it to.
	l.says(t, exitCannot, []string{"no limit on I/O that could be tried", "shares"}, "verify", name, "--path", dir)
	l.says(t, exitDone, []string{"would write"}, "clear", name, "--dry-run")
	has("clear --dry-run", true, "200")
	l.says(t, exitDone, []string{"cleared"}, "clear", name)
	has("cleared, and the neighbor has one", true, "")
	l.says(t, exitDone, []string{disk + " is not divided by weight any more", "has its old value again"}, "set", neighbor, "--device", loop, "--weight", "none")
	has("all cleared", false, "")
}
