package keeper

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/testkit/disktest"
)

// finderOf is a Holder whose finder has options.
func finderOf(t *testing.T, o target.Options) *hold.Holder {
	t.Helper()
	o.Proc = "/proc"
	f := target.New(o)
	t.Cleanup(func() { f.Close() })
	h, err := hold.New(device.Host(), f)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// task is a container of Docker's as containerd notes it: a process in the bench's group, in the folder state. It returns the
// container as Docker tells of it.
func (b *bench) task(state string) target.Target {
	b.t.Helper()
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	if err := b.group.Add(child.Process.Pid); err != nil {
		b.t.Fatal(err)
	}
	id := base(b.group)
	dir := filepath.Join(state, "io.containerd.runtime.v2.task", "moby", id)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	for name, text := range map[string]string{"config.json": "{}", "init.pid": fmt.Sprint(child.Process.Pid)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
	ref, err := target.Parse(fmt.Sprintf("pid:%d", child.Process.Pid))
	if err != nil {
		b.t.Fatal(err)
	}
	c, err := b.opt.Holder.Finder.Resolve(b.t.Context(), ref)
	if err != nil {
		b.t.Fatal(err)
	}
	c.Kind, c.Engine, c.ID, c.Name, c.Host = target.Container, target.Docker, id, "web", "unix:///nowhere.sock"
	c.Labels = map[string]string{"tier": "gold"}
	return c
}

// load puts a policy in force.
func (b *bench) load(policy string) {
	b.t.Helper()
	b.write(b.text(policy))
	loaded := b.k.Status().Policy.Loaded
	b.k.Reload()
	eventually(b.t, "the policy is loaded", func() bool { return b.k.Status().Policy.Loaded.After(loaded) })
}

const goldRule = "rules:\n- {name: gold, match: {name: web, label: {tier: gold}}, where: {device: DISK}, limits: {write_bps: 1MiB}}\n"

// TestRestartWithoutEngine: a keeper that starts while Docker is down knows its containers by what the one before noted.
func TestRestartWithoutEngine(t *testing.T) {
	state := t.TempDir()
	b := newBench(t, Options{Holder: finderOf(t, target.Options{Containerd: []target.ContainerdRoot{{State: filepath.Join(t.TempDir(), "none")}}})}, goldRule)
	b.k.Started(b.task(state))
	b.has("1048576")
	again := func() {
		t.Helper()
		b.stop()
		b.opt.Holder = finderOf(t, target.Options{Containerd: []target.ContainerdRoot{{State: state}}})
		b.begin()
		eventually(t, "the engines were asked", func() bool { return b.k.listed.Load() })
		if got := rate(base(b.group), b.number); got != "1048576" {
			t.Errorf("after a restart without its engine the container has %q", got)
		}
	}
	again()
	if c := b.k.Status().Containers; len(c) != 1 || c[0].Target != "docker:web" || len(c[0].Held) != 1 {
		t.Errorf("the state: %+v", c)
	}
	// Its rules go on, as they are now.
	b.load(strings.Replace(goldRule, "1MiB", "2MiB", 1))
	b.has("2097152")
	b.load(goldRule)
	b.has("1048576")
	// Where nothing was noted of it, what a rule of the policy gave it stays, and goes with the rule.
	eventually(t, "it is noted, and no file is being written", func() bool { return len(notes(t, b.opt.Run, containerKind)) == 1 })
	b.stop()
	held, _, err := b.k.store.load(b.k.all()[0])
	if err != nil || len(held) != 1 {
		t.Fatalf("noted: %+v, %v", held, err)
	}
	e := b.k.all()[0]
	e.target.Partial, e.held = true, held
	if err := b.k.store.save(e); err != nil {
		t.Fatal(err)
	}
	again()
	b.load("rules:\n- {name: all, match: all, where: {device: DISK}, limits: {write_bps: 5MiB}}\n" + goldRule[len("rules:\n"):])
	eventually(t, "it is looked at", func() bool { return b.said("policy loaded: 2 rules") })
	if n := b.k.Check(); n.Writes != 0 || rate(base(b.group), b.number) != "1048576" {
		t.Errorf("a rule before: %+v, %q", n, rate(base(b.group), b.number))
	}
	b.load("rules: []\n")
	b.has("")
}

// TestRestartWithoutList: what a keeper doesn't hear of it doesn't forget: its process lives.
func TestRestartWithoutList(t *testing.T) {
	b := newBench(t, Options{}, goldRule)
	c := b.task(t.TempDir())
	b.k.Started(c)
	b.has("1048576")
	b.stop()
	files := notes(t, b.opt.Run, containerKind)
	if len(files) != 1 {
		t.Fatalf("noted: %q", files)
	}
	age(t, files[0])
	b.begin()
	eventually(t, "the engines were asked", func() bool { return b.k.listed.Load() })
	if b.k.complete.Load() {
		t.Error("all is said to be known")
	}
	if _, err := os.Stat(files[0]); err != nil {
		t.Error(err)
	}
	b.write("rules: []\n")
	b.k.Reload()
	b.k.Started(c)
	b.has("")
}

// TestDeviceWideRestart: what the root group is held to stays at a restart, until all of its containers are known.
func TestDeviceWideRestart(t *testing.T) {
	needV1(t)
	one, two := disktest.Loop(t, disktest.Image(t, 16<<20), false), disktest.Loop(t, disktest.Image(t, 16<<20), false)
	first, second := disktest.Number(t, one), disktest.Number(t, two)
	firstNumber, _ := device.ParseNumber(first)
	policy := fmt.Sprintf("rules:\n- {name: a, match: {name: \"*/a\"}, where: {device: %s, device_wide: true}, limits: {write_bps: 1MiB}}\n"+
		"- {name: b, match: {name: \"*/b\"}, where: {device: %s, device_wide: true}, limits: {write_bps: 2MiB}}\n", one, two)
	b := newBench(t, Options{}, policy)
	of := func(name string) target.Target {
		dir := filepath.Join(string(b.group), name)
		if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(dir) })
		return targetOf(disktest.Group(dir))
	}
	root := func(w1, w2 string) {
		t.Helper()
		eventually(t, fmt.Sprintf("the root group has %q and %q", w1, w2), func() bool { return rate("", first) == w1 && rate("", second) == w2 })
	}
	// What is left of it goes at the end of the test.
	t.Cleanup(func() {
		for _, d := range []string{first, second} {
			_ = os.WriteFile("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device", []byte(d+" 0"), 0)
		}
	})
	b.k.Started(of("a"))
	b.k.Started(of("b"))
	root("1048576", "2097152")
	b.stop()
	// A daemon that doesn't answer may have more containers.
	b.opt.Holder = finderOf(t, target.Options{Daemons: []dockerapi.Address{{Host: "unix://" + filepath.Join(t.TempDir(), "none.sock"), Source: "the test"}}})
	b.begin()
	b.k.Started(of("a"))
	eventually(t, "the engines were asked, and a is known", func() bool {
		b.k.root.mu.Lock()
		defer b.k.root.mu.Unlock()
		h := b.k.root.held[Slot{Key: "write_bps", Device: firstNumber, DeviceWide: true}]
		return b.k.listed.Load() && h != nil && !h.inherited
	})
	if got := rate("", first) + " " + rate("", second); got != "1048576 2097152" {
		t.Errorf("after a restart the root group has %s", got)
	}
	// A rule that is gone is nobody's, and one that is there is b's.
	b.k.Started(of("b"))
	b.load(strings.Replace(policy, "2MiB", "3MiB", 1))
	root("1048576", "3145728")
	b.load("rules: []\n")
	root("", "")
	b.load(policy)
	root("1048576", "2097152")
	// When all are known, what nobody wants goes.
	b.stop()
	b.opt.Holder = holderFor(t)
	b.begin()
	root("", "")
}
