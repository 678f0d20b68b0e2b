package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/container/target"
	"plimsoll/internal/host/device"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/dockertest"
)

// TestLimitPodmanVolume: a volume of Podman's is limited in the container that uses it and at its own device; when no container uses it,
// it is tried from a container that Podman makes for it.
func TestLimitPodmanVolume(t *testing.T) {
	t.Parallel() // It waits most of the time.
	needBlkio(t)
	image := disktest.Image(t, 256<<20)
	loop := disktest.Loop(t, image, true)
	disktest.Format(t, loop, "ext4")
	number := disktest.Number(t, loop)
	d := dockertest.SharedPodman(t)
	api, err := client.New(client.WithHost(d.Host))
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	dockertest.ImportSleeper(t, api)
	if _, err := api.VolumeCreate(t.Context(), client.VolumeCreateOptions{Name: "stock", DriverOpts: map[string]string{"type": "ext4", "device": loop}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := api.VolumeRemove(context.Background(), "stock", client.VolumeRemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
		_ = os.WriteFile(filepath.Join(blkioRoot, "blkio.throttle.write_bps_device"), []byte(number+" 0"), 0)
		disktest.Detach(t, image)
	})
	c, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: "shop", Config: &container.Config{Image: dockertest.SleeperImage, Entrypoint: []string{"/sleeper"}},
		HostConfig: &container.HostConfig{NetworkMode: "host", Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: "stock", Target: "/data"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	remove := func() error {
		_, err := api.ContainerRemove(context.Background(), c.ID, client.ContainerRemoveOptions{Force: true})
		return err
	}
	removed := false
	t.Cleanup(func() {
		if !removed {
			if err := remove(); err != nil {
				t.Error(err)
			}
		}
	})
	if _, err := api.ContainerStart(t.Context(), c.ID, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	in, err := api.ContainerInspect(t.Context(), c.ID, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	group := groupOf(t, in.Container.State.Pid)
	l := limitLab{target.Options{Daemons: []dockerapi.Address{{Host: d.Host, Source: "the test"}}}, t.TempDir()}

	// The volume has a device of its own.
	l.says(t, exitDone, []string{"container shop: set write_bps=8MiB", "the root group", "volume stock: on " + filepath.Base(loop)}, "set", "volume:stock", "--write-bps", "8MiB")
	for _, dir := range []string{group, blkioRoot} {
		if got := deviceLimit(t, dir, "blkio.throttle.write_bps_device", number); got != "8388608" {
			t.Errorf("%s has %q for the volume's device, want 8388608", dir, got)
		}
	}
	if r, _ := l.judgedAt(t, 8<<20, "verify", "volume:stock", "--modes", "direct"); r.Group.Dir != group { // TestLimit measures a volume.
		t.Errorf("verify would measure in %s, want %s", r.Group.Dir, group)
	}
	l.says(t, exitDone, []string{"cleared"}, "clear", "volume:stock")
	for _, dir := range []string{group, blkioRoot} {
		if got := deviceLimit(t, dir, "blkio.throttle.write_bps_device", number); got != "" {
			t.Errorf("cleared, %s has %q for the volume's device", dir, got)
		}
	}

	// --all: its own layer, and what is mounted into it.
	l.says(t, exitDone, []string{"its own layer: on", "volume stock: on " + filepath.Base(loop)}, "set", "shop", "--all", "--read-iops", "4000000")
	layer, err := device.Host().Of(d.Dir)
	if err != nil || layer.Device == nil {
		t.Fatalf("the device of Podman's own folder: %+v, %v", layer, err)
	}
	for _, n := range []string{number, layer.Device.Number.String()} {
		if got := deviceLimit(t, group, "blkio.throttle.read_iops_device", n); got != "4000000" {
			t.Errorf("--all: the container's group has %q for %s", got, n)
		}
	}
	l.do(t, exitDone, "clear", "shop")

	// Nobody uses it: a container of Podman's is made for the trial, and goes with it.
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	removed = true
	text := l.says(t, exitDone, []string{"a probe container, volume stock, on " + filepath.Base(loop)}, "verify", "volume:stock", "--probe", "--write-bps", "4MiB", "--modes", "direct", "--time", "3s")
	if strings.Count(text, "held: asked 4 MiB/s") != 1 || strings.Contains(text, "NOT held") {
		t.Errorf("verify --probe: %s", text)
	}
	list, err := api.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("volume", "stock")})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("containers %+v, %v", list.Items, err)
	}
	if _, err := api.VolumeInspect(t.Context(), "stock", client.VolumeInspectOptions{}); err != nil {
		t.Errorf("the volume: %v", err)
	}
	if got := deviceLimit(t, blkioRoot, "blkio.throttle.write_bps_device", number); got != "" {
		t.Errorf("after the trial the root group has %q for the volume's device", got)
	}
}

// groupOf is the folder of a process's group of version 1's block controller.
func groupOf(t *testing.T, pid int) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cgroup"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.SplitN(strings.TrimSpace(line), ":", 3); len(f) == 3 && f[1] == "blkio" {
			return filepath.Join(blkioRoot, f[2])
		}
	}
	t.Fatalf("process %d has no group of the block controller: %s", pid, b)
	return ""
}
