package keeper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/journaltest"
)

// hour disables the timed checks, so that a test sees only the effect of events.
const hour = time.Hour

// A bench is a group of the test's own with a disk, and a keeper that knows it.
type bench struct {
	*running
	group disktest.Group
	// disk is the node of the device, and number is its number.
	disk, number string
}

func newBench(t *testing.T, opt Options, policy string) *bench {
	t.Helper()
	needV1(t)
	b := &bench{group: disktest.NewBlkioGroup(t), disk: disktest.Loop(t, disktest.Image(t, 16<<20), false)}
	b.number = disktest.Number(t, b.disk)
	if opt.Holder == nil {
		opt.Holder = holderFor(t)
	}
	if opt.Check == 0 {
		opt.Check = hour
	}
	b.running = start(t, opt, b.text(policy))
	return b
}

// text puts the disk into a policy.
func (b *bench) text(policy string) string { return strings.ReplaceAll(policy, "DISK", b.disk) }

// targetOf is a group as a target.
func targetOf(g disktest.Group) target.Target {
	return target.Target{Kind: target.Cgroup, Name: string(g), Running: true}
}

// base is a group's path below the hierarchy.
func base(g disktest.Group) string { return filepath.Base(string(g)) }

// has waits until the group has a limit on bytes written, "" for none.
func (b *bench) has(want string) {
	b.t.Helper()
	eventually(b.t, fmt.Sprintf("the group has %q", want), func() bool { return rate(base(b.group), b.number) == want })
}

const oneRule = "rules:\n- {name: one, match: all, where: {device: DISK}, limits: {write_bps: 1MiB}}\n"

// TestDrift: what others change is restored at once and counted, groups that are made are held, and nothing is written where
// nothing differs.
func TestDrift(t *testing.T) {
	b := newBench(t, Options{}, oneRule)
	b.k.Started(targetOf(b.group))
	b.has("1048576")
	eventually(t, "the keeper is done with it", func() bool { return b.said("held to") })
	if err := b.group.Put("blkio.throttle.write_bps_device", b.number+" 5000000"); err != nil {
		t.Fatal(err)
	}
	b.has("1048576")
	eventually(t, "the drift is counted", func() bool { return b.k.Status().Drift == 1 && b.said("another program changed a limit") })
	sub := filepath.Join(base(b.group), "below")
	if err := os.Mkdir(filepath.Join(string(b.group), "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(filepath.Join(string(b.group), "below"))
	took := eventually(t, "a group that was made is held", func() bool { return rate(sub, b.number) == "1048576" })
	t.Logf("a group that the container made was held after %v", took)
	// All is told by now.
	time.Sleep(300 * time.Millisecond)
	before := b.k.Status()
	for range 5 {
		if tick := b.k.Check(); tick.Writes != 0 {
			t.Errorf("%d writes without drift", tick.Writes)
		}
	}
	s := b.k.Status()
	if s.Writes != before.Writes {
		t.Errorf("%d writes, before %d", s.Writes, before.Writes)
	}
	if c := s.Containers[0]; s.Drift != 1 || c.Drift != 1 {
		t.Errorf("drift %d, of the container %d, want 1", s.Drift, c.Drift)
	}
	if drifted := s.Containers[0].Drifted; !strings.Contains(drifted, "5000000") {
		t.Errorf("drifted: %q", drifted)
	}
}

// TestDriftMeanwhile: what was changed while no keeper ran is restored by the next, and counted, each limit of it.
func TestDriftMeanwhile(t *testing.T) {
	b := newBench(t, Options{}, "rules:\n- {name: one, match: all, where: {device: DISK}, limits: {write_bps: 1MiB, read_iops: 100}}\n")
	begin := func() {
		t.Helper()
		b.k.Started(targetOf(b.group))
		b.has("1048576")
		eventually(t, "the keeper is done with it", func() bool { s := b.k.Status(); return len(s.Containers) == 1 && len(s.Containers[0].Held) == 2 })
	}
	begin()
	b.stop()
	for _, file := range []string{"blkio.throttle.write_bps_device", "blkio.throttle.read_iops_device"} {
		if err := b.group.Put(file, b.number+" 7000"); err != nil {
			t.Fatal(err)
		}
	}
	b.begin()
	begin()
	eventually(t, "both are counted, as one correction", func() bool {
		s := b.k.Status()
		return s.Drift == 1 && s.Containers[0].Drift == 1 && s.Containers[0].Held[0].Drift == 1 && s.Containers[0].Held[1].Drift == 1
	})
	if s := b.k.Status().Containers[0]; strings.Count(s.Drifted, "7000") != 2 {
		t.Errorf("told of %q, want both", s.Drifted)
	}
}

// TestFight: the keeper waits longer each time before it restores a limit that another program changes again and again.
func TestFight(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{}, oneRule)
	b.k.Started(targetOf(b.group))
	b.has("1048576")
	eventually(t, "the keeper is done with it", func() bool { return b.said("held to") })
	before := b.k.Status().Writes
	began := time.Now()
	end := began.Add(2 * time.Second)
	for time.Now().Before(end) {
		if err := b.group.Put("blkio.throttle.write_bps_device", b.number+" 5000000"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	// At 0, 0.1, 0.3, 0.7 and 1.5 seconds, and a busy machine's 2 s may be 4.
	n, took := b.k.Status().Writes-before, time.Since(began)
	most := int64(2)
	for at := firstBackoff; at < took; at = 2*at + firstBackoff {
		most++
	}
	if n < 3 || n > most {
		t.Errorf("%d writes against another writer in %v, want 3 to %d", n, took, most)
	}
	b.has("1048576")
}

// TestRules: of several rules the last one that says something decides, for each device and kind of limit; what was there
// before is restored when no rule says anything any more.
func TestRules(t *testing.T) {
	b := newBench(t, Options{}, "rules: []\n")
	other := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	second := disktest.Number(t, other)
	if err := b.group.Put("blkio.throttle.write_bps_device", b.number+" 777"); err != nil {
		t.Fatal(err)
	}
	load := func(policy string) {
		t.Helper()
		b.write(b.text(strings.ReplaceAll(policy, "OTHER", other)))
		loaded := b.k.Status().Policy.Loaded
		b.k.Reload()
		eventually(t, "the policy is loaded", func() bool { return b.k.Status().Policy.Loaded.After(loaded) })
	}
	values := func() string {
		g := base(b.group)
		return fmt.Sprintf("%s %s | %s %s", throttle(g, "write_bps", b.number), throttle(g, "read_iops", b.number), throttle(g, "write_bps", second), throttle(g, "read_iops", second))
	}
	b.k.Started(targetOf(b.group))
	for _, row := range []struct{ name, policy, want string }{
		{"none", "rules: []", "777  |  "},
		{"two devices", "rules:\n" +
			"- {name: a, match: all, where: {device: DISK}, limits: {write_bps: 1MiB, read_iops: 100}}\n" +
			"- {name: b, match: all, where: {device: OTHER}, limits: {write_bps: 2MiB}}\n", "1048576 100 | 2097152 "},
		{"the later decides", "rules:\n" +
			"- {name: a, match: all, where: {device: DISK}, limits: {write_bps: 1MiB, read_iops: 100}}\n" +
			"- {name: b, match: all, where: {device: DISK}, limits: {write_bps: 3MiB}}\n", "3145728 100 |  "},
		{"none removes", "rules:\n" +
			"- {name: a, match: all, where: {device: DISK}, limits: {write_bps: 1MiB, read_iops: 100}}\n" +
			"- {name: b, match: all, where: {device: DISK}, limits: {write_bps: none}}\n", " 100 |  "},
		{"a rule that can't be kept leaves the others", "rules:\n" +
			"- {name: a, match: all, where: {device: DISK}, limits: {write_bps: 1MiB}}\n" +
			"- {name: b, match: all, where: {device: DISK}, limits: {write_bps: 3MiB, latency: 5ms}}\n", "1048576  |  "},
		{"nothing measured", "rules:\n" +
			"- {name: a, match: all, where: {device: DISK}, limits: {write_bps: 25%}}\n", "777  |  "},
		{"another container's", "rules:\n- {name: a, match: {name: web}, limits: {write_bps: 1MiB}}\n", "777  |  "},
	} {
		load(row.policy)
		eventually(t, row.name+": "+values()+", want "+row.want, func() bool { return values() == row.want })
	}
	for _, words := range []string{"rule b can't be kept: latency", "rule a can't be kept: loop", "no measured rate", "no rule limits it any more"} {
		if !b.said(words) {
			t.Errorf("the log lacks %q", words)
		}
	}
}

// TestReload: a policy that changes is put in force, a bad one isn't.
func TestReload(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{Poll: 20 * time.Millisecond}, oneRule)
	b.k.Started(targetOf(b.group))
	b.has("1048576")
	b.write(b.text(strings.Replace(oneRule, "1MiB", "2MiB", 1)))
	b.has("2097152")
	b.write(b.text(strings.Replace(oneRule, "write_bps", "write_bsp", 1)))
	eventually(t, "the fault is told", func() bool {
		return b.said("did you mean write_bps?") && b.said("the old policy stays in force") && strings.Contains(b.k.Status().Policy.Fault, "policy.yaml:2:")
	})
	// A save that a full disk or a kill has cut off leaves an empty file, which is not the wish for no rules.
	for text, words := range map[string]string{"": "the policy is empty", "# rules:\n": "the policy is empty", "{}\n": "the policy has no rules"} {
		b.write(text)
		eventually(t, "the empty policy is told", func() bool { return strings.Contains(b.k.Status().Policy.Fault, words) })
		if s := b.k.Status().Policy; s.Rules != 1 || rate(base(b.group), b.number) != "2097152" {
			t.Errorf("with the policy %q: %+v, the group has %q", text, s, rate(base(b.group), b.number))
		}
		b.write(b.text(strings.Replace(oneRule, "1MiB", "2MiB", 1)))
		eventually(t, "the good policy is in force", func() bool { return b.k.Status().Policy.Fault == "" })
		if good, err := os.ReadFile(filepath.Join(b.opt.Run, LastGood)); err != nil || !strings.Contains(string(good), "write_bps: 2MiB") {
			t.Errorf("the copy after the policy %q: %q, %v", text, good, err)
		}
	}
	if err := os.Remove(b.opt.Policy); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its absence is told", func() bool { return strings.Contains(b.k.Status().Policy.Fault, "there is no policy") })
	b.has("2097152")
	// A keeper that starts with a bad policy has the last good one.
	b.stop()
	b.write("rules: 5\n")
	b.begin()
	b.k.Started(targetOf(b.group))
	s := b.k.Status().Policy
	if s.Rules != 1 {
		t.Errorf("%d rules of the last good policy, want 1", s.Rules)
	}
	if filepath.Base(s.From) != LastGood || s.From == s.Path {
		t.Errorf("the policy is from %s, want the last good one", s.From)
	}
	if !strings.Contains(s.Fault, "rules wants a list") {
		t.Errorf("the policy's fault: %q", s.Fault)
	}
	b.write("rules: []\n")
	b.has("")
	if b.k.Status().Policy.Fault != "" {
		t.Errorf("policy %+v", b.k.Status().Policy)
	}
}

// TestStop: limits stay when a keeper ends, the next one knows them, and --clear-on-stop removes them.
func TestStop(t *testing.T) {
	b := newBench(t, Options{}, oneRule)
	if err := b.group.Put("blkio.throttle.write_bps_device", b.number+" 777"); err != nil {
		t.Fatal(err)
	}
	b.k.Started(targetOf(b.group))
	b.has("1048576")
	if _, err := New(b.opt); !errors.Is(err, ErrRunning) || !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
		t.Errorf("a second keeper: %v", err)
	}
	b.stop()
	b.has("1048576")
	b.begin()
	b.k.Started(targetOf(b.group))
	eventually(t, "what was held is known", func() bool {
		c := b.k.Status().Containers
		return len(c) == 1 && len(c[0].Held) == 1 && c[0].Held[0].Was == "777"
	})
	b.write("rules: []\n")
	b.k.Reload()
	b.has("777")
	b.stop()
	b.write(b.text(oneRule))
	b.opt.ClearOnStop = true
	b.begin()
	b.k.Started(targetOf(b.group))
	b.has("1048576")
	b.stop()
	b.has("777")
	if left := journaltest.Left(t, b.opt.Run); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

// TestHotplug: a rule for a disk that isn't there yet is kept when it comes.
func TestHotplug(t *testing.T) {
	dir := t.TempDir()
	b := newBench(t, Options{}, "rules:\n- {name: usb, match: all, where: {device: \""+dir+"/usb*\"}, limits: {write_bps: 1MiB}}\n")
	b.k.Started(targetOf(b.group))
	eventually(t, "the fault is told", func() bool { return b.said("no block device is called " + dir + "/usb* at present") })
	image := disktest.Image(t, 16<<20)
	loop := disktest.Loop(t, image, false)
	if err := os.Symlink(loop, filepath.Join(dir, "usb1")); err != nil {
		t.Fatal(err)
	}
	took := eventually(t, "the new disk is held", func() bool { return rate(base(b.group), disktest.Number(t, loop)) == "1048576" })
	t.Logf("a disk was held %v after it came", took)
	eventually(t, "the fault is gone", func() bool { return len(b.k.Status().Containers[0].Faults) == 0 })
}

// TestHotplugMore: a disk that fits a pattern is held when it comes, also where others fit it already.
func TestHotplugMore(t *testing.T) {
	dir := t.TempDir()
	plug := func(name string) (number string) {
		t.Helper()
		loop := disktest.Loop(t, disktest.Image(t, 16<<20), false)
		if err := os.Symlink(loop, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		return disktest.Number(t, loop)
	}
	first := plug("usb1")
	b := newBench(t, Options{}, "rules:\n- {name: usb, match: all, where: {device: \""+dir+"/usb*\"}, limits: {write_bps: 1MiB}}\n")
	b.k.Started(targetOf(b.group))
	eventually(t, "the first is held", func() bool { return rate(base(b.group), first) == "1048576" })
	second := plug("usb2")
	took := eventually(t, "the second is held", func() bool { return rate(base(b.group), second) == "1048576" })
	if took > 5*time.Second {
		t.Errorf("a disk was held %v after it came", took)
	}
	// Without a message of the kernel, as of a disk that udev names late, the next look sees it.
	if err := os.Remove(filepath.Join(dir, "usb2")); err != nil {
		t.Fatal(err)
	}
	b.k.tick()
	eventually(t, "the second is let go", func() bool { return rate(base(b.group), second) == "" && rate(base(b.group), first) == "1048576" })
}

// TestDeviceWide: the root group is held while a container is there whose rule wants it, to what the last of their rules
// says.
func TestDeviceWide(t *testing.T) {
	b := newBench(t, Options{}, "rules:\n"+
		"- {name: a, match: {name: \"*\"}, where: {device: DISK, device_wide: true}, limits: {write_bps: 1MiB}}\n"+
		"- {name: b, match: {name: \"*/second\"}, where: {device: DISK, device_wide: true}, limits: {write_bps: 2MiB}}\n")
	second := filepath.Join(string(b.group), "second")
	if err := os.Mkdir(second, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(second)
	root := func(want string) {
		t.Helper()
		eventually(t, fmt.Sprintf("the root group has %q", want), func() bool { return rate("", b.number) == want })
	}
	one, two := targetOf(b.group), targetOf(disktest.Group(second))
	b.k.Started(one)
	root("1048576")
	b.k.Started(two)
	root("2097152")
	if s := b.k.Status().RootGroup; s == nil || len(s.Held) != 1 {
		t.Errorf("state of the root group: %+v, want one limit", s)
	} else if held := s.Held[0]; !held.DeviceWide || held.Rule != "b" {
		t.Errorf("the root group has %+v, want a device-wide limit of rule b", held)
	}
	drop := func(t target.Target) {
		b.k.mu.Lock()
		defer b.k.mu.Unlock()
		b.k.drop(b.k.entries[keyOf(t)])
	}
	drop(two)
	root("1048576")
	drop(one)
	root("")
}
