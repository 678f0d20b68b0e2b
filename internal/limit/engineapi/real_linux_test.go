package engineapi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/text/refusal"
)

// A lab is a daemon and a loop device of the test's own, that no disk of the machine is limited.
type lab struct {
	api  *client.Client
	host string
	a    *API
	disk Device
}

func newLab(t *testing.T, d *dockertest.Daemon) *lab {
	t.Helper()
	api, err := client.New(client.WithHost(d.Host))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Close() })
	dockertest.ImportSleeper(t, api)
	a, err := Open(t.Context(), d.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return &lab{api, d.Host, a, loop(t)}
}

// loop makes a loop device, which goes at the test's end.
func loop(t *testing.T) Device {
	t.Helper()
	image := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 16<<20); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", image).CombinedOutput()
	if err != nil {
		t.Fatalf("losetup: %v: %s", err, out)
	}
	path := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "--detach", path).CombinedOutput(); err != nil {
			t.Errorf("losetup --detach %s: %v: %s", path, err, out)
		}
	})
	d := Device{Path: path}
	var ok bool
	if d.Number, ok = device.BlockNode(path); !ok {
		t.Fatalf("%s is not a block device", path)
	}
	return d
}

// run starts a container and finds it.
func (l *lab) run(t *testing.T, name string, host *container.HostConfig) target.Target {
	t.Helper()
	host.NetworkMode = "host"
	c, err := l.api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: name, Config: &container.Config{Image: dockertest.SleeperImage, Entrypoint: []string{"/sleeper"}}, HostConfig: host,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.api.ContainerRemove(context.Background(), c.ID, client.ContainerRemoveOptions{Force: true})
	})
	if _, err := l.api.ContainerStart(t.Context(), c.ID, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	return l.find(t, name)
}

func (l *lab) find(t *testing.T, name string) target.Target {
	t.Helper()
	opt := target.Options{}
	opt.Daemons = append(opt.Daemons, dockerapi.Address{Host: l.host, Source: "the test"})
	f := target.New(opt)
	defer f.Close()
	got, err := f.Resolve(t.Context(), target.Ref{Kind: target.Container, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// kernel reads a file of the container's group: v1 has it in the hierarchy of a controller, v2 has v2file.
func kernel(t *testing.T, got target.Target, controller, v1file, v2file string) string {
	t.Helper()
	for _, g := range got.Groups {
		file := filepath.Join("/sys/fs/cgroup", g.Path, v2file)
		if g.Version == 1 {
			file = filepath.Join("/sys/fs/cgroup", controller, g.Path, v1file)
			if !strings.Contains(","+strings.Join(g.Controllers, ",")+",", ","+controller+",") {
				continue
			}
		}
		if b, err := os.ReadFile(file); err == nil {
			return strings.TrimSpace(string(b))
		}
	}
	t.Fatalf("no group of %+v has %s or %s", got.Groups, v1file, v2file)
	return ""
}

func (l *lab) wantRate(t *testing.T, got target.Target, when string, rate int) {
	t.Helper()
	v1, v2 := fmt.Sprintf("%s %d", l.disk.Number, rate), fmt.Sprintf("%s rbps=max wbps=%d", l.disk.Number, rate)
	s := kernel(t, got, "blkio", "blkio.throttle.write_bps_device", "io.max")
	if has := strings.Contains(s, v1) || strings.Contains(s, v2); has != (rate != 0) {
		t.Errorf("%s: the kernel has %q, want rate %d", when, s, rate)
	}
}

// wantQuota looks for a quota of the usual period.
func (l *lab) wantQuota(t *testing.T, got target.Target, when string, quota int) {
	t.Helper()
	if s := kernel(t, got, "cpu", "cpu.cfs_quota_us", "cpu.max"); s != fmt.Sprint(quota) && s != fmt.Sprint(quota, 100_000) {
		t.Errorf("%s: the kernel's quota of CPUs is %s, want %d", when, s, quota)
	}
}

// TestDocker: an update of a real daemon's container, and what can't be taken back. PLIMSOLL_DOCKERD
// makes it the current one, which takes devices.
func TestDocker(t *testing.T) {
	t.Parallel()
	l := newLab(t, dockertest.Start(t))
	got := l.run(t, "web", &container.HostConfig{})
	o, err := l.a.Set(t.Context(), got.ID, Resources{CPUs: 0.5, CPUShares: 300, Memory: 64 << 20})
	if err != nil || !o.Live || !o.Stored {
		t.Fatalf("Set = %+v, %v", o, err)
	}
	if s := kernel(t, got, "memory", "memory.limit_in_bytes", "memory.max"); s != "67108864" {
		t.Errorf("the kernel's limit of memory is %s", s)
	}
	if s := kernel(t, got, "cpu", "cpu.cfs_quota_us", "cpu.max"); s != "50000" && s != "50000 100000" {
		t.Errorf("the kernel's quota of CPUs is %s", s)
	}
	// More than memory and swap together were before.
	if _, err := l.a.Set(t.Context(), got.ID, Resources{Memory: 256 << 20}); err != nil {
		t.Errorf("Set more memory: %v", err)
	}
	if s := kernel(t, got, "memory", "memory.limit_in_bytes", "memory.max"); s != "268435456" {
		t.Errorf("the kernel's limit of memory is %s", s)
	}
	l.disk.WriteBPS = 10 << 20
	o, err = l.a.Set(t.Context(), got.ID, Resources{Devices: []Device{l.disk}})
	if l.a.takesDevices() {
		if err != nil || !o.Stored {
			t.Fatalf("Set a device = %+v, %v", o, err)
		}
		l.wantRate(t, got, "after Set", 10<<20)
	} else {
		var u *refusal.Error
		if !errors.As(err, &u) {
			t.Errorf("Set a device = %+v, %v; want it refused", o, err)
		}
		l.wantRate(t, got, "after a refusal", 0)
	}
	before, err := l.a.Stored(t.Context(), got.ID)
	if err != nil || len(before.Devices) > 0 != l.a.takesDevices() {
		t.Errorf("Stored = %q, %v", before.Words(), err)
	}
	left, err := l.a.Forget(t.Context(), got.ID, Which{})
	if words := strings.Join(left.Words(), "|"); err != nil || words != "cpus=0.5|cpu_shares=300|memory=256MiB" {
		t.Errorf("Forget left %q, %v", words, err)
	}
	if l.a.takesDevices() {
		// The daemon has forgotten it, and the kernel has not: that is why a limit is cleared in its group.
		l.wantRate(t, got, "after Forget", 10<<20)
	}

	host := &container.HostConfig{}
	if err := Create(l.a.daemon, Resources{Devices: []Device{l.disk}, Memory: 32 << 20, CPUs: 0.29}, host); err != nil {
		t.Fatal(err)
	}
	made := l.run(t, "made", host)
	l.wantRate(t, made, "after Create", 10<<20)
	l.wantQuota(t, made, "after Create of 0.29", 29000)

	// Of one that was made with a quota, which no float64 of 0.29 is.
	quota := l.run(t, "quota", &container.HostConfig{Resources: container.Resources{CPUQuota: 50000}})
	if o, err := l.a.Set(t.Context(), quota.ID, Resources{CPUs: 0.29}); err != nil || !o.Stored {
		t.Errorf("Set 0.29 CPUs = %+v, %v", o, err)
	}
	l.wantQuota(t, quota, "after Set of 0.29", 29000)

	disk := l.disk
	disk.Path = "/dev/null"
	if _, err := l.a.Set(t.Context(), got.ID, Resources{Devices: []Device{disk}}); err == nil || !strings.Contains(err.Error(), "is not a block device") {
		t.Errorf("Set of /dev/null = %v", err)
	}
	if _, err := l.a.Set(t.Context(), "no-such", Resources{Memory: 32 << 20}); err == nil || !strings.Contains(err.Error(), "no-such") {
		t.Errorf("Set of no container = %v", err)
	}
}

// TestPodman: Podman's own update, which its Docker API has not. With PLIMSOLL_DOCKERD's runc it takes
// devices; Debian's, 1.1, passes over them and says yes.
func TestPodman(t *testing.T) {
	t.Parallel()
	var opt dockertest.PodmanOptions
	if dir := os.Getenv(dockertest.EnvPrograms); dir != "" {
		opt.Runtime = filepath.Join(dir, "runc")
	}
	l := newLab(t, dockertest.Podman(t, opt))
	got := l.run(t, "web", &container.HostConfig{Resources: container.Resources{Memory: 64 << 20}})
	l.disk.WriteBPS = 10 << 20
	o, err := l.a.Set(t.Context(), got.ID, Resources{Devices: []Device{l.disk}, CPUs: 0.5})
	var u *refusal.Error
	switch {
	case err == nil:
		l.wantRate(t, got, "after Set", 10<<20)
		if opt.Runtime == "" && oldRunc(t) {
			t.Error("an old runc takes devices")
		}
	case opt.Runtime == "" && errors.As(err, &u) && strings.Contains(err.Error(), "its runtime does not apply it"):
		l.wantRate(t, got, "after a refusal", 0)
		if s := kernel(t, got, "cpu", "cpu.cfs_quota_us", "cpu.max"); s != "-1" && s != "max 100000" {
			t.Errorf("after a refusal the kernel's quota of CPUs is %s", s)
		}
		o, err = l.a.Set(t.Context(), got.ID, Resources{CPUs: 0.5})
	}
	if err != nil || !o.Live {
		t.Fatalf("Set = %+v, %v", o, err)
	}
	if o.Stored == l.a.forgets() || o.Stored == (len(o.Notes) > 0) {
		t.Errorf("Set = %+v by %s", o, l.a.title())
	}
	if s := kernel(t, got, "cpu", "cpu.cfs_quota_us", "cpu.max"); s != "50000" && s != "50000 100000" {
		t.Errorf("the kernel's quota of CPUs is %s", s)
	}
	if _, err := l.a.Set(t.Context(), got.ID, Resources{CPUs: 0.29}); err != nil {
		t.Error(err)
	}
	l.wantQuota(t, got, "after Set of 0.29", 29000)
	// What it had stays.
	if s := kernel(t, got, "memory", "memory.limit_in_bytes", "memory.max"); s != "67108864" {
		t.Errorf("the kernel's limit of memory is %s", s)
	}
	left, err := l.a.Forget(t.Context(), got.ID, Which{})
	if err != nil || left.Memory != 64<<20 {
		t.Errorf("Forget = %q, %v; want that memory is left", left.Words(), err)
	}
	if _, err := l.a.Set(t.Context(), "no-such", Resources{Memory: 32 << 20}); err == nil || !strings.Contains(err.Error(), "no-such") {
		t.Errorf("Set of no container = %v", err)
	}
	if l.a.forgets() {
		// Of a container that doesn't run it would be lost.
		if _, err := l.api.ContainerKill(t.Context(), got.ID, client.ContainerKillOptions{Signal: "KILL"}); err != nil {
			t.Fatal(err)
		}
		wait := l.api.ContainerWait(t.Context(), got.ID, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
		select {
		case <-wait.Result:
		case err := <-wait.Error:
			t.Fatal(err)
		}
		if _, err := l.a.Set(t.Context(), got.ID, Resources{Memory: 32 << 20}); !errors.As(err, &u) {
			t.Errorf("Set of a container that ended = %v", err)
		}
	}
}

// oldRunc reports whether the installed runc is older than 1.4.
func oldRunc(t *testing.T) bool {
	t.Helper()
	var major, minor int
	out, err := exec.Command("runc", "--version").Output()
	if err == nil {
		_, err = fmt.Sscanf(string(out), "runc version %d.%d", &major, &minor)
	}
	if err != nil {
		t.Fatalf("runc --version: %v: %s", err, out)
	}
	return major == 1 && minor < 4
}
