package keeper

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/container/target"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/dockertest"
)

// blkioOf is the group of version 1 with a process's rates.
func blkioOf(t *testing.T, pid int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.SplitN(strings.TrimSpace(line), ":", 3); len(f) == 3 && slices.Contains(strings.Split(f[1], ","), "blkio") {
			return f[2]
		}
	}
	t.Fatalf("process %d has no group of blkio: %s", pid, b)
	return ""
}

// connected waits until a keeper's one engine tells, or doesn't.
func (r *running) connected(want bool) {
	r.t.Helper()
	eventually(r.t, fmt.Sprintf("the engine tells: %v", want), func() bool {
		e := r.k.Status().Engines
		return len(e) > 0 && !slices.ContainsFunc(e, func(e Engine) bool { return e.Connected != want })
	})
}

// TestPodman: Podman's containers are held by its events, over its restart, and over one of the keeper while it is away.
func TestPodman(t *testing.T) {
	t.Parallel()
	needV1(t)
	d := dockertest.Podman(t, dockertest.PodmanOptions{})
	api, err := client.New(client.WithHost(d.Host))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Close() })
	dockertest.ImportSleeper(t, api)
	disk := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	number := disktest.Number(t, disk)
	run := func(name string) (group string) {
		t.Helper()
		c, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
			Name: name, Config: &container.Config{Image: dockertest.SleeperImage, Entrypoint: []string{"/sleeper"}, Labels: map[string]string{"tier": "gold"}},
			HostConfig: &container.HostConfig{NetworkMode: "host"},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_, _ = api.ContainerRemove(context.Background(), c.ID, client.ContainerRemoveOptions{Force: true})
		})
		if _, err := api.ContainerStart(t.Context(), c.ID, client.ContainerStartOptions{}); err != nil {
			t.Fatal(err)
		}
		res, err := api.ContainerInspect(t.Context(), c.ID, client.ContainerInspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return blkioOf(t, res.Container.State.Pid)
	}
	held := func(group string) {
		t.Helper()
		eventually(t, group+" is held", func() bool { return rate(group, number) == "10485760" })
	}
	options := target.Options{
		Daemons: []dockerapi.Address{{Host: d.Host, Source: "the test"}},
		Storage: []target.Storage{{Graph: filepath.Join(d.Dir, "root"), Run: filepath.Join(d.Dir, "run")}},
	}
	r := start(t, Options{Holder: finderOf(t, options), Check: hour}, fmt.Sprintf("rules:\n- {name: gold, match: {engine: podman, label: {tier: gold}}, where: {device: %s}, limits: {write_bps: 10MiB}}\n", disk))
	// Its files tell as well.
	eventually(t, "the service is connected", func() bool {
		return slices.ContainsFunc(r.k.Status().Engines, func(e Engine) bool { return e.Connected && strings.Contains(e.Name, d.Host) })
	})
	first := run("plimsoll-keeper-1")
	held(first)
	// The keeper begins again while Podman's service is away: its files don't tell labels.
	d.Kill()
	eventually(t, "the service is missed", func() bool { return r.said("may miss events") })
	held(first)
	r.stop()
	r.opt.Holder = finderOf(t, options)
	r.begin()
	eventually(t, "the engines were asked", func() bool { return r.k.listed.Load() })
	if c := r.k.Status().Containers; len(c) != 1 || c[0].Target != "podman:plimsoll-keeper-1" || rate(first, number) != "10485760" {
		t.Errorf("without the service: %+v, rate %q", c, rate(first, number))
	}
	d.Restart(t)
	r.connected(true)
	held(run("plimsoll-keeper-2"))
	held(first)
}

// TestContainerd: containerd's containers are held before their programs run, and over a restart of the keeper while it is away.
func TestContainerd(t *testing.T) {
	t.Parallel()
	needV1(t)
	d := dockertest.Containerd(t)
	ctr := func(words ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, d.Command[0], append(slices.Clone(d.Command[1:]), words...)...)
		cmd.Env = d.Env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("ctr %v: %v: %s", words, err, out)
		}
		return string(out)
	}
	root := t.TempDir()
	for _, dir := range []string{"proc", "dev", "sys", "tmp"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "sleeper"), dockertest.Sleeper(t), 0o755); err != nil {
		t.Fatal(err)
	}
	disk := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	number := disktest.Number(t, disk)
	run := func(id string) (group string) {
		t.Helper()
		ctr("run", "--detach", "--null-io", "--label", "tier=gold", "--rootfs", root, id, "/sleeper")
		t.Cleanup(func() {
			ctr("tasks", "rm", "-f", id)
			ctr("containers", "rm", id)
		})
		b, err := os.ReadFile(filepath.Join(d.ContainerdState(), "io.containerd.runtime.v2.task", d.Namespace(), id, "init.pid"))
		if err != nil {
			t.Fatal(err)
		}
		var pid int
		if _, err := fmt.Sscan(string(b), &pid); err != nil {
			t.Fatal(err)
		}
		return blkioOf(t, pid)
	}
	options := target.Options{Containerd: []target.ContainerdRoot{{State: d.ContainerdState(), Address: strings.TrimPrefix(d.Host, "unix://")}}}
	r := start(t, Options{Holder: finderOf(t, options), Check: hour}, fmt.Sprintf("rules:\n- {name: gold, match: {engine: containerd, label: {tier: gold}}, where: {device: %s}, limits: {write_bps: 10MiB}}\n", disk))
	r.connected(true)
	group := run("plimsoll-keeper-1")
	eventually(t, "it is held", func() bool { return rate(group, number) == "10485760" })
	d.Kill()
	r.stop()
	r.opt.Holder = finderOf(t, options)
	r.begin()
	eventually(t, "the engines were asked", func() bool { return r.k.listed.Load() })
	if c := r.k.Status().Containers; len(c) != 1 || len(c[0].Held) != 1 || rate(group, number) != "10485760" {
		t.Errorf("without containerd: %+v, rate %q", c, rate(group, number))
	}
	d.Restart(t)
	second := run("plimsoll-keeper-2")
	eventually(t, "the next is held", func() bool { return rate(second, number) == "10485760" })
}
