package main

import (
	"context"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/testkit/texttest"
)

// TestLimitVolumeShared: a limit on a volume with two users is each one's own, and set and show say what both may do together.
func TestLimitVolumeShared(t *testing.T) {
	needRun(t)
	needBlkio(t)
	d := dockertest.SharedDocker(t)
	api := findsDocker(t, d)
	dockertest.ImportSleeper(t, api)
	_, dir := fastDisk(t)
	if _, err := api.VolumeCreate(t.Context(), client.VolumeCreateOptions{Name: "data", DriverOpts: map[string]string{"type": "none", "o": "bind", "device": dir}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := api.VolumeRemove(context.Background(), "data", client.VolumeRemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	})
	state := t.TempDir()
	says := func(words, not string, args ...string) {
		t.Helper()
		r := plimsoll(t, t.Context(), state, "", append([]string{"limit"}, args...)...)
		text := r.stdout + r.stderr
		if r.status != exitDone {
			t.Errorf("%v: status %d, want 0:\n%s", args, r.status, text)
		}
		texttest.Has(t, text, []string{words}, args)
		if not != "" {
			texttest.Lacks(t, text, []string{not}, args)
		}
	}
	// Whatever the test leaves in the root group for the disk.
	t.Cleanup(func() { plimsoll(t, context.Background(), state, "", "limit", "clear", "volume:data") })
	for i, name := range []string{"one", "two"} {
		res, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
			Name: name, Config: &container.Config{Image: dockertest.SleeperImage, Entrypoint: []string{"/sleeper"}},
			HostConfig: &container.HostConfig{
				NetworkMode: "host", Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: "data", Target: "/data"}},
				Resources: container.Resources{CgroupParent: d.CgroupParent},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if _, err := api.ContainerRemove(context.Background(), res.ID, client.ContainerRemoveOptions{Force: true}); err != nil {
				t.Error(err)
			}
		})
		if _, err := api.ContainerStart(t.Context(), res.ID, client.ContainerStartOptions{}); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			says("container one: set write_bps=8MiB", "together", "set", "volume:data", "--write-bps", "8MiB")
			says("write_bps=8MiB", "together", "show", "volume:data")
		}
	}
	const both = "2 containers, up to write_bps=8MiB each: write_bps=16MiB together"
	says("note: "+both, "", "set", "volume:data", "--write-bps", "8MiB")
	says("note: on loop", "", "show", "volume:data")
	says(both, "", "show", "volume:data")
	says(both, "", "show", "volume:data", "--json")
	says("set write_bps=2MiB", "together", "set", "one", "--volume", "data", "--write-bps", "2MiB")
	says("2 containers, each with a limit of its own: up to write_bps=10MiB together", "", "show", "volume:data")
	says("cleared", "together", "clear", "volume:data")
	says("no limits", "together", "show", "volume:data")
}
