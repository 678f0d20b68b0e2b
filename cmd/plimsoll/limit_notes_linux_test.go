package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/container/target"
	"plimsoll/internal/daemon"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/texttest"
)

// boundContainer runs a container with folders of the host bound into it, by target, with runc or crun, and returns its name.
func boundContainer(t *testing.T, binds map[string]string) (l limitLab, name string) {
	t.Helper()
	path, err := exec.LookPath("runc")
	if err != nil {
		t.Skip("needs runc: apt-get install runc")
	}
	root := sleeperRoot(t)
	bundle, state, id := filepath.Dir(root), filepath.Join(t.TempDir(), "runc"), fmt.Sprintf("plimsoll-notes-%d", os.Getpid())
	for to := range binds {
		if err := os.MkdirAll(filepath.Join(root, to), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	spec := exec.Command(path, "spec")
	spec.Dir = bundle
	if out, err := spec.CombinedOutput(); err != nil {
		t.Fatalf("runc spec: %v: %s", err, out)
	}
	editJSON(t, filepath.Join(bundle, "config.json"), func(c map[string]any) {
		process := c["process"].(map[string]any)
		process["terminal"], process["args"] = false, []string{"/sleeper"}
		for _, to := range slices.Sorted(maps.Keys(binds)) {
			c["mounts"] = append(c["mounts"].([]any), map[string]any{"destination": to, "type": "bind", "source": binds[to], "options": []string{"rbind", "rw"}})
		}
	})
	startBundle(t, path, state, bundle, id)
	return limitLab{target.Options{Runc: []string{state}}, t.TempDir()}, "oci:" + id
}

// keeperSaying is the folder of a daemon that tells a state.
func keeperSaying(t *testing.T, s daemon.Status) (run string) {
	t.Helper()
	run = t.TempDir()
	l, err := net.Listen("unix", filepath.Join(run, daemon.Socket))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = json.NewEncoder(c).Encode(s)
			c.Close()
		}
	}()
	return run
}

// TestLimitNotes: set and clear say what else has the limit because it is on the same device, and what the limit lets through;
// the command that proves it has what was named, and works.
func TestLimitNotes(t *testing.T) {
	needBlkio(t)
	t.Parallel() // A limited process mostly waits, and the disk is this test's own.
	loop, dir := fastDisk(t)
	disk := filepath.Base(loop)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := errors.Join(os.Mkdir(a, 0o777), os.Mkdir(b, 0o777)); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"read_bps", "write_bps", "read_iops", "write_iops"} {
		rootGets(t, key, loop, "0")
	}
	l, name := boundContainer(t, map[string]string{"/a": a, "/b": b})
	says := func(words []string, not string, args ...string) string {
		t.Helper()
		text := l.do(t, exitDone, args...)
		texttest.Has(t, text, words, args)
		if not != "" && strings.Contains(text, not) {
			t.Errorf("%v: %q in\n%s", args, not, text)
		}
		return text
	}
	says([]string{name + ", its own layer (/)", name + ", /a", name + ", /b", "limits go on " + disk, "one limit for them together"}, "", "explain", name)
	if text := l.do(t, exitFailure, "explain", "oci:plimsoll-no-such"); !strings.Contains(text, "there is no container") {
		t.Errorf("explain: %s", text)
	}
	proof := "prove it: plimsoll limit verify " + name
	text := says([]string{"/b of container", "on " + disk + " as well, and has the same limits there", "NOT held in the mode buffered", "--device-wide holds them too, for all writers of the device (" + dir + ")",
		proof + " --path /a --state " + l.state}, "/a of container", "set", name, "--path", "/a", "--write-bps", "10MB")
	if !strings.Contains(text, "write_bps=10000000 (9.54 MiB/s)") {
		t.Errorf("no size that people read in\n%s", text)
	}
	says([]string{disk, "/a, /b"}, "", "show", name)
	says([]string{"/a of container", "has lost the same limits"}, "/b of container", "clear", name, "--path", "/b")
	says([]string{proof + " --path /a"}, "as well", "set", name, "--device", loop, "--write-bps", "20MiB")
	_, after, _ := strings.Cut(says([]string{proof + " --path /a --device-wide"}, "", "set", name, "--path", "/a", "--write-bps", "2MiB", "--device-wide"), "prove it: plimsoll limit ")
	// The device is held already: nothing gets past.
	says([]string{proof + " --path /a"}, "NOT held in the mode", "set", name, "--path", "/a", "--write-bps", "3MiB")
	says([]string{"NOT held in the mode buffered"}, "", "set", name, "--path", "/a", "--write-bps", "1MiB")
	other, _ := fastDisk(t)
	says([]string{"no data of container", "is on " + other + ", so the limit has no effect yet", "on " + disk}, "", "set", name, "--device", other, "--write-bps", "5MiB")
	says(nil, "no data of container", "set", name, "--device", loop, "--write-bps", "5MiB")
	says(nil, "", "clear", name, "--device", other)
	says(nil, "", "set", name, "--path", "/a", "--write-bps", "2MiB", "--device-wide")
	// The printed command can be typed.
	args, _, _ := strings.Cut(after, " --state ")
	if text := l.do(t, exitDone, append(strings.Fields(args), "--modes", "direct", "--time", "3s")...); !strings.Contains(text, "held: asked 2 MiB/s") {
		t.Errorf("verify as printed: %s", text)
	}
	says([]string{"holds all buffered writes to " + disk, dir}, "", "set", name, "--path", "/a", "--write-bps", "21MiB", "--device-wide")
	says(nil, "prove it", "set", name, "--cpus", "1.5")
	// A daemon that holds it will set its own again: limit/change tests of what.
	number, _ := device.ParseNumber(disktest.Number(t, loop))
	run := keeperSaying(t, daemon.Status{Status: keeper.Status{PID: 42, Containers: []keeper.ContainerStatus{
		{Target: name, Held: []keeper.Limit{{Grant: keeper.Grant{Slot: keeper.Slot{Key: limit.WriteBPS, Device: number}, Value: "10MiB", Rule: "shop"}}}}}}})
	says([]string{"the daemon (process 42) holds container", "to write_bps=10MiB by rule shop"}, "", "set", name, "--path", "/a", "--write-bps", "20MiB", "--run", run)
	says([]string{"cleared"}, "", "clear", name)
	if got := rootHas(t, "write_bps", loop); got != "" {
		t.Errorf("the root group has %q", got)
	}
}

// TestLimitOfProcess: limits of a process without a place are for the device of its /, and its working folder's is named.
func TestLimitOfProcess(t *testing.T) {
	needBlkio(t)
	loop, dir := fastDisk(t)
	group := disktest.NewBlkioGroup(t)
	cmd := exec.Command("sleep", "1000")
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if err := group.Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	l := limitLab{target.Options{}, t.TempDir()}
	text := l.do(t, exitDone, "set", fmt.Sprint("pid:", cmd.Process.Pid), "--write-bps", "500MiB")
	if want := "its working folder " + dir + " is on " + filepath.Base(loop); !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	if text := l.do(t, exitDone, "set", fmt.Sprint("pid:", cmd.Process.Pid), "--path", dir, "--write-bps", "500MiB"); strings.Contains(text, "working folder") {
		t.Errorf("with its path: %s", text)
	}
}

// TestLimitEmptyDevice: a loop device without a file is refused, since its next file is another's; limits that it had can be
// cleared.
func TestLimitEmptyDevice(t *testing.T) {
	needBlkio(t)
	image := disktest.Image(t, 16<<20)
	loop := disktest.Loop(t, image, false)
	l := limitLab{target.Options{}, t.TempDir()}
	group := disktest.NewBlkioGroup(t)
	name := "cgroup:" + string(group)
	l.do(t, exitDone, "set", name, "--device", loop, "--write-bps", "1MiB")
	number := disktest.Number(t, loop)
	disktest.Detach(t, image)
	if text := l.do(t, exitCannot, "set", name, "--device", loop, "--write-bps", "2MiB"); !strings.Contains(text, "it is empty") || !strings.Contains(text, "attach it first") {
		t.Errorf("set: %s", text)
	}
	if text := l.do(t, exitCannot, "explain", loop); !strings.Contains(text, "it is empty") {
		t.Errorf("explain: %s", text)
	}
	has := func() string {
		b, err := os.ReadFile(filepath.Join(string(group), "blkio.throttle.write_bps_device"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	if got := has(); got != number+" 1048576" {
		t.Errorf("the group has %q", got)
	}
	l.do(t, exitDone, "clear", name, "--device", loop)
	if got := has(); got != "" {
		t.Errorf("cleared: the group has %q", got)
	}
}

// TestLimitTogether: flags that exclude each other are wrong usage.
func TestLimitTogether(t *testing.T) {
	l := limitLab{target.Options{}, t.TempDir()}
	for _, row := range [][]string{
		{"set", "web", "--weight", "200", "--enable-weights", "--dry-run"}, {"set", "web", "--write-bps", "1MiB", "--keep", "--dry-run"},
		{"clear", "web", "--path", "/", "--device", "/dev/vda"},
	} {
		if text := l.do(t, exitUsage, row...); !strings.Contains(text, "can't be used together") {
			t.Errorf("%v: %s", row, text)
		}
	}
}
