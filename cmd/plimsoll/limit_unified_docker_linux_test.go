package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/blkiodev"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/container/target"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/dockertest"
)

// unifiedGroupOf is the group of version 2 that a process is in (cgroups(7): the line of hierarchy 0).
func unifiedGroupOf(t *testing.T, pid int) disktest.Group {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return disktest.Group(filepath.Join("/sys/fs/cgroup", path))
		}
	}
	t.Fatalf("process %d is in no group of version 2: %s", pid, b)
	return ""
}

// TestLimitUnifiedDocker: a container of Docker on version 2 that was made with a limit of a device takes another while it runs, is held to
// it, and is rid of it, which Docker's own update can't do; the limit that Docker has stored is reported, and comes back with the next start, unless the
// keeper holds the container.
func TestLimitUnifiedDocker(t *testing.T) {
	needRun(t)
	disktest.NewUnifiedGroup(t, "io") // Skips where version 2 has no io controller.
	d := dockertest.SharedDocker(t)
	api := clientOf(t, d)
	dockertest.ImportSleeper(t, api)
	loop, dir := fastDisk(t)
	number := disktest.Number(t, loop)
	made, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: "web", Config: &container.Config{Image: dockertest.SleeperImage, Entrypoint: []string{"/sleeper"}},
		HostConfig: &container.HostConfig{NetworkMode: "host", Binds: []string{dir + ":/data"}, Resources: container.Resources{
			CgroupParent: d.CgroupParent, BlkioDeviceWriteBps: []*blkiodev.ThrottleDevice{{Path: loop, Rate: 8 << 20}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := api.ContainerRemove(context.Background(), made.ID, client.ContainerRemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	})
	group := func() disktest.Group {
		t.Helper()
		c, err := api.ContainerInspect(t.Context(), made.ID, client.ContainerInspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return unifiedGroupOf(t, c.Container.State.Pid)
	}
	if _, err := api.ContainerStart(t.Context(), made.ID, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	has := func(want string) {
		t.Helper()
		if is := group().Line(t, "io.max", number); is != want {
			t.Errorf("io.max has %q of %s, want %q", is, number, want)
		}
	}
	const stored = "rbps=max wbps=8388608 riops=max wiops=max"
	has(stored)
	l := limitLab{target.Options{Daemons: []dockerapi.Address{{Host: d.Host, Source: "the test"}}}, t.TempDir()}
	if text := l.do(t, exitDone, "show", "docker:web"); !strings.Contains(text, "write_bps=8MiB") {
		t.Errorf("show: %s", text)
	}
	l.do(t, exitDone, "set", "docker:web", "--device", loop, "--write-bps", "1MiB")
	has("rbps=max wbps=1048576 riops=max wiops=max")
	l.do(t, exitDone, "set", "docker:web", "--device", loop, "--write-bps", "none")
	has("")
	l.proveRate(t, "docker:web", "/data", "direct", "buffered+fsync")
	text := l.do(t, exitDone, "clear", "docker:web")
	has("")
	if !strings.Contains(text, "has stored write_bps=8MiB on "+loop) && !strings.Contains(text, "no longer stores write_bps=8MiB on "+loop) {
		t.Errorf("clear says nothing of what Docker has stored: %s", text)
	}
	restart := func() {
		t.Helper()
		if _, err := api.ContainerRestart(t.Context(), made.ID, client.ContainerRestartOptions{Signal: "KILL"}); err != nil {
			t.Fatal(err)
		}
	}
	was := ""
	if !strings.Contains(text, "no longer stores") {
		restart()
		has(stored)
		was = stored
	}
	// The keeper finds the container, holds it, and holds it again after a restart, which brings back what Docker has stored.
	k := keep(t, l.targets, "{name: web}", "{path: /data}", "{write_bps: 1MiB}")
	k.restores(t, group(), number)
	restart()
	k.until(t, "the restarted container is held", func() bool {
		return group().Line(t, "io.max", number) == "rbps=max wbps=1048576 riops=max wiops=max"
	})
	k.end()
	has(was)
}
