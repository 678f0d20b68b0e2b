package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/blkiodev"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/testkit/texttest"
)

// TestLimitStored: clear clears the kernel whatever the engine has stored, and reports which limits the next start brings
// back; and it does.
func TestLimitStored(t *testing.T) {
	needRun(t)
	if _, err := os.Stat("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"); err != nil {
		t.Skip("needs the blkio controller of version 1")
	}
	d := dockertest.SharedDocker(t)
	api := findsDocker(t, d)
	dockertest.ImportSleeper(t, api)
	loop := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	res, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: "web", Config: &container.Config{Image: dockertest.SleeperImage, Entrypoint: []string{"/sleeper"}},
		HostConfig: &container.HostConfig{NetworkMode: "host", Resources: container.Resources{
			CgroupParent: d.CgroupParent, Memory: 64 << 20, BlkioDeviceWriteBps: []*blkiodev.ThrottleDevice{{Path: loop, Rate: 10 << 20}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := api.ContainerRemove(context.Background(), res.ID, client.ContainerRemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	})
	start := func() {
		t.Helper()
		if _, err := api.ContainerStart(t.Context(), res.ID, client.ContainerStartOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	start()
	state := t.TempDir()
	do := func(status int, words []string, not string, args ...string) {
		t.Helper()
		r := plimsoll(t, t.Context(), state, "", append([]string{"limit"}, args...)...)
		text := r.stdout + r.stderr
		if r.status != status || not != "" && strings.Contains(text, not) {
			t.Errorf("%v: status %d, want %d without %q:\n%s", args, r.status, status, not, text)
		}
		texttest.Has(t, text, words, args)
	}
	current := os.Getenv(dockertest.EnvPrograms) != "" // Takes and forgets limits of devices.
	rate, memory := "write_bps=10MiB on "+loop, "memory=64MiB"
	do(exitDone, []string{"write_bps=10MiB", "memory=64MiB", "has stored " + rate + ", " + memory}, "", "show", "web")
	// A limit beside what is stored.
	do(exitDone, []string{"set write_bps=8MiB", "has stored " + rate + ", and will set that again at the next start or update"}, memory, "set", "web", "--device", loop, "--write-bps", "8MiB")
	do(exitDone, nil, "has stored", "set", "web", "--device", loop, "--write-bps", "10MiB")
	if current {
		do(exitDone, []string{"cleared", "no longer stores " + rate, "has stored " + memory}, "has stored "+rate, "clear", "web")
		do(exitDone, []string{"no limits", memory}, rate, "show", "web")
	} else {
		do(exitDone, []string{"cleared", "has stored " + rate + ", " + memory, "recreate the container"}, "", "clear", "web")
		do(exitDone, []string{"no limits", rate}, "", "show", "web")
	}
	// An update of anything has the runtime write what it began the container with.
	if _, err := api.ContainerUpdate(t.Context(), res.ID, client.ContainerUpdateOptions{Resources: &container.Resources{CPUShares: 700}}); err != nil {
		t.Fatal(err)
	}
	do(exitDone, []string{"write_bps=10MiB"}, "", "show", "web")
	if _, err := api.ContainerRestart(t.Context(), res.ID, client.ContainerRestartOptions{Signal: "KILL"}); err != nil {
		t.Fatal(err)
	}
	// As it was said.
	if current {
		do(exitDone, []string{"memory=64MiB"}, "write_bps", "show", "web")
	} else {
		do(exitDone, []string{"memory=64MiB", "write_bps=10MiB"}, "", "show", "web")
	}
	// Limits that the engine stores are there after a restart.
	if current {
		do(exitDone, []string{"stored by docker"}, "", "set", "web", "--device", loop, "--write-bps", "6MiB", "--keep")
	} else {
		do(exitCannot, []string{"before version 29.6"}, "", "set", "web", "--device", loop, "--write-bps", "6MiB", "--keep")
		do(exitDone, nil, "write_bps=6MiB", "show", "web")
	}
	do(exitDone, []string{"stored by docker"}, "", "set", "web", "--memory", "96MiB", "--keep")
	do(exitCannot, []string{"no engine stores it"}, "", "set", "web", "--device", loop, "--latency", "5ms", "--keep")
	if _, err := api.ContainerRestart(t.Context(), res.ID, client.ContainerRestartOptions{Signal: "KILL"}); err != nil {
		t.Fatal(err)
	}
	words := []string{"memory=96MiB"}
	if current {
		words = append(words, "write_bps=6MiB")
	}
	do(exitDone, words, "", "show", "web")
}
