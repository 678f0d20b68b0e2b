package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/texttest"
)

// says runs a command of limit, and checks that the output has all of the words.
func (l limitLab) says(t *testing.T, status int, words []string, args ...string) string {
	t.Helper()
	text := l.do(t, status, args...)
	texttest.Has(t, text, words, args)
	return text
}

// deviceLimit is what a file of the block controller has for a device, "" for nothing.
func deviceLimit(t *testing.T, dir, file, number string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if n, value, _ := strings.Cut(strings.TrimSpace(line), " "); n == number {
			return value
		}
	}
	return ""
}

const blkioRoot = "/sys/fs/cgroup/blkio"

// TestLimitDeviceWide: with --device-wide the root group has the rates for the device too, each by its own file; without,
// it has none.
func TestLimitDeviceWide(t *testing.T) {
	needBlkio(t)
	l := limitLab{target.Options{}, t.TempDir()}
	loop, _ := fastDisk(t)
	group, number := disktest.NewBlkioGroup(t), disktest.Number(t, loop)
	files := map[limit.Key]string{limit.ReadBPS: "read_bps", limit.WriteBPS: "write_bps", limit.ReadIOPS: "read_iops", limit.WriteIOPS: "write_iops"}
	t.Cleanup(func() {
		for _, f := range files {
			_ = os.WriteFile(filepath.Join(blkioRoot, "blkio.throttle."+f+"_device"), []byte(number+" 0"), 0)
		}
	})
	has := func(when, dir string, want map[limit.Key]string) {
		t.Helper()
		for k, f := range files {
			if got := deviceLimit(t, dir, "blkio.throttle."+f+"_device", number); got != want[k] {
				t.Errorf("%s: %s of %s is %q, want %q", when, k, dir, got, want[k])
			}
		}
	}
	set := []string{"set", "cgroup:" + string(group), "--device", loop}
	l.says(t, exitDone, []string{"set write_bps=1MiB"}, append(set, "--write-bps", "1MiB")...)
	has("without", string(group), map[limit.Key]string{limit.WriteBPS: "1048576"})
	has("without", blkioRoot, nil)
	deviceWide := map[limit.Key]string{limit.WriteBPS: "2097152", limit.ReadIOPS: "300"}
	l.says(t, exitDone, []string{"the root group, which does the writeback of other groups: set"}, append(set, "--write-bps", "2MiB", "--read-iops", "300", "--device-wide")...)
	has("with", string(group), deviceWide)
	has("with", blkioRoot, deviceWide)
	l.says(t, exitDone, []string{"cleared"}, "clear", "cgroup:"+string(group), "--device", loop, "--device-wide")
	has("cleared", string(group), nil)
	has("cleared", blkioRoot, nil)
}

// A limitedProcess is a real process in groups of a test's own, by controller.
type limitedProcess struct {
	name   string
	groups map[string]disktest.Group
}

// file is what a control file of one of its groups has.
func (p limitedProcess) file(t *testing.T, controller, file string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(string(p.groups[controller]), file))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func startLimited(t *testing.T) limitedProcess {
	t.Helper()
	p := limitedProcess{groups: map[string]disktest.Group{"blkio": disktest.NewBlkioGroup(t)}}
	for _, c := range []string{"cpu", "memory"} {
		if _, err := os.Stat("/sys/fs/cgroup/" + c + "/cgroup.procs"); err != nil {
			t.Skipf("needs the %s controller of version 1: %v", c, err)
		}
		p.groups[c] = disktest.NewGroup(t, "/sys/fs/cgroup/"+c)
	}
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for c, g := range p.groups {
		if err := g.Add(cmd.Process.Pid); err != nil {
			t.Fatalf("%s: %v", c, err)
		}
	}
	p.name = fmt.Sprintf("pid:%d", cmd.Process.Pid)
	return p
}

// TestLimitProcess: limits of every kind are set on a process by its number, are what the kernel's own files then have, are
// shown, proved and cleared.
func TestLimitProcess(t *testing.T) {
	t.Parallel()
	needBlkio(t)
	l := limitLab{target.Options{}, t.TempDir()}
	loop, dir := fastDisk(t)
	p := startLimited(t)
	number := disktest.Number(t, loop)
	type files map[[2]string]string
	has := func(when string, want files) {
		t.Helper()
		for f, w := range want {
			if got := p.file(t, f[0], f[1]); got != w {
				t.Errorf("%s: %s is %q, want %q", when, f[1], got, w)
			}
		}
	}
	quota, shares, memory := [2]string{"cpu", "cpu.cfs_quota_us"}, [2]string{"cpu", "cpu.shares"}, [2]string{"memory", "memory.limit_in_bytes"}
	rate := [2]string{"blkio", "blkio.throttle.write_bps_device"}
	before := files{}
	for _, f := range [][2]string{quota, shares, memory, rate} {
		before[f] = p.file(t, f[0], f[1])
	}

	l.says(t, exitDone, []string{p.name + ": no limits"}, "show", p.name)
	l.says(t, exitDone, []string{"cpus=1.5", "cpu_shares=1500", " apply to all of the group ", ", which has "},
		"set", p.name, "--cpus", "1.5", "--cpu-shares", "1500", "--memory", "256MiB")
	has("set", files{quota: "150000", shares: "1500", memory: "268435456", rate: before[rate]})
	if period := p.file(t, "cpu", "cpu.cfs_period_us"); period != "100000" {
		t.Errorf("1.5 CPUs are a quota of 150000 in %s", period)
	}
	l.says(t, exitDone, []string{"write_bps=8MiB", "on " + filepath.Base(loop)}, "set", p.name, "--path", dir, "--write-bps", "8MiB")
	has("a rate too", files{quota: "150000", shares: "1500", memory: "268435456", rate: number + " 8388608"})
	l.says(t, exitDone, []string{"cpus=1.5", "cpu_shares=1500", "memory=256MiB", "write_bps=8MiB", filepath.Base(loop) + " (" + number + ")"}, "show", p.name)
	asked, _ := l.judged(t, judge.Held, exitDone, []string{"held: asked 8 MiB/s"}, "verify", p.name, "--path", dir)
	if len(asked) != 1 || asked[0].Group.Dir != string(p.groups["blkio"]) {
		t.Errorf("verify would measure %+v, want it in %s", asked, p.groups["blkio"])
	}
	// Version 1 has no such thing, and nothing else of the command is done.
	l.says(t, exitCannot, []string{"version 1 of cgroups has no latency targets", "give the neighbours rates"},
		"set", p.name, "--path", dir, "--latency", "5ms", "--cpus", "1", "--write-bps", "1MiB")
	has("a latency refused", files{quota: "150000", rate: number + " 8388608"})
	l.says(t, exitDone, nil, "set", p.name, "--cpu-shares", "none")
	has("shares removed", files{quota: "150000", shares: before[shares], memory: "268435456"})
	l.says(t, exitDone, []string{"cleared"}, "clear", p.name)
	has("cleared", before)
	l.says(t, exitDone, []string{p.name + ": no limits"}, "show", p.name)
}

// TestLimitShowJSON: what show prints for programs is what was set, with the numbers of groups and devices.
func TestLimitShowJSON(t *testing.T) {
	needBlkio(t)
	l := limitLab{target.Options{}, t.TempDir()}
	loop, dir := fastDisk(t)
	p := startLimited(t)
	l.do(t, exitDone, "set", p.name, "--memory", "256MiB", "--cpus", "0.5")
	l.do(t, exitDone, "set", p.name, "--path", dir, "--write-bps", "8MiB", "--read-iops", "200")
	var got struct {
		Target struct {
			Kind string
			PID  int
		}
		GroupSets []struct{ Name string } `json:"group_sets"`
		Shown     []struct {
			GroupSet struct{ Name string } `json:"group_set"`
			Groups   []struct {
				Group   string
				Limits  limit.Limits
				Devices map[string]limit.Limits
			}
			Stored any
		}
	}
	text := l.do(t, exitDone, "show", p.name, "--json")
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if len(got.GroupSets) != 1 || len(got.Shown) != 1 {
		t.Fatalf("%d group sets, %d shown, want 1: %s", len(got.GroupSets), len(got.Shown), text)
	}
	names := [...]string{got.GroupSets[0].Name, got.Shown[0].GroupSet.Name, fmt.Sprintf("pid:%d", got.Target.PID)}
	if want := [...]string{p.name, p.name, p.name}; names != want {
		t.Fatalf("the names of the group set, of the one shown and of the target are %q, want %q", names, want)
	}
	if got.Shown[0].Stored != nil {
		t.Fatalf("stored %v, want nothing", got.Shown[0].Stored)
	}
	var plain limit.Limits
	devices := map[string]limit.Limits{}
	for _, g := range got.Shown[0].Groups {
		if g.Group == "" {
			t.Errorf("a group without a name: %s", text)
		}
		for _, k := range limit.Keys {
			if g.Limits.Has(k) {
				plain = plain.With(k, g.Limits)
			}
		}
		for n, d := range g.Devices {
			devices[n] = d
		}
	}
	if want := (limit.Limits{Memory: 256 << 20, CPUs: 0.5}); plain != want {
		t.Errorf("limits %+v, want %+v: %s", plain, want, text)
	}
	if want := (limit.Limits{WriteBPS: 8 << 20, ReadIOPS: 200}); len(devices) != 1 || devices[disktest.Number(t, loop)] != want {
		t.Errorf("devices %+v, want %+v of %s: %s", devices, want, disktest.Number(t, loop), text)
	}
}

// TestLimitOverlay: a limit on an overlay is set on the disk of its upper folder, where verify looks, and holds what is written through it.
func TestLimitOverlay(t *testing.T) {
	needBlkio(t)
	t.Parallel() // A limited process mostly waits, and the disk is this test's own.
	l := limitLab{target.Options{}, t.TempDir()}
	loop, dir := fastDisk(t)
	merged := disktest.Overlay(t, dir)
	group, number := disktest.NewBlkioGroup(t), disktest.Number(t, loop)
	name := "cgroup:" + string(group)
	l.says(t, exitDone, []string{"on " + filepath.Base(loop) + " (" + number + ")"}, "set", name, "--path", merged, "--write-bps", "8MiB", "--read-iops", "200")
	if w, r := deviceLimit(t, string(group), "blkio.throttle.write_bps_device", number), deviceLimit(t, string(group), "blkio.throttle.read_iops_device", number); w != "8388608" || r != "200" {
		t.Errorf("the group has %q and %q for %s", w, r, number)
	}
	if r, _ := l.judgedAt(t, 8<<20, "verify", name, "--path", merged, "--modes", "direct"); "/dev/"+r.Device.Name != loop || r.Group.Dir != string(group) {
		t.Errorf("verify would measure %s in %s, want %s in %s", r.Device.Name, r.Group.Dir, loop, group)
	}
	// What is written through it is held, as far as it is a process's own writes.
	for _, how := range []string{"oflag=direct", "conv=fsync"} {
		write := exec.Command("sh", "-c", `echo $$ >"$0/cgroup.procs" && exec dd if=/dev/zero "of=$1/file" bs=1M count=16 "$2"`, string(group), merged, how)
		began := time.Now()
		if out, err := write.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if took := time.Since(began); took < 1500*time.Millisecond { // 2 s, but for what a limiter lets through at the start.
			t.Errorf("%s: 16 MiB were written at 8 MiB/s within %v", how, took)
		}
	}
	l.do(t, exitDone, "clear", name)
	if left, _ := filepath.Glob(filepath.Join(merged, "plimsoll*")); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}
