package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/container/target"
	"plimsoll/internal/limit/policy"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/dockertest"
)

// TestLimitRestart: a container that is started again has lost its limits. Set says so, and prints the policy by which the daemon
// holds them; the refusal of --keep prints it too; and show without a target lists the limits of the machine with the program that set each.
func TestLimitRestart(t *testing.T) {
	t.Parallel() // It waits most of the time.
	needBlkio(t)
	loop, dir := fastDisk(t)
	number := disktest.Number(t, loop)
	d := dockertest.SharedDocker(t)
	api := clientOf(t, d)
	dockertest.ImportSleeper(t, api)
	c, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: "on", Config: &container.Config{Image: dockertest.SleeperImage, Entrypoint: []string{"/sleeper"}},
		HostConfig: &container.HostConfig{NetworkMode: "host", Mounts: []mount.Mount{{Type: mount.TypeBind, Source: dir, Target: "/data"}}, Resources: container.Resources{Memory: 256 << 20}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := api.ContainerRemove(context.Background(), c.ID, client.ContainerRemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	})
	start := func() (group string) {
		t.Helper()
		if _, err := api.ContainerRestart(t.Context(), c.ID, client.ContainerRestartOptions{}); err != nil {
			t.Fatal(err)
		}
		in, err := api.ContainerInspect(t.Context(), c.ID, client.ContainerInspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return groupOf(t, in.Container.State.Pid)
	}
	has := func(group string) bool {
		b, err := os.ReadFile(filepath.Join(group, "blkio.throttle.write_bps_device"))
		return err == nil && strings.Contains(string(b), number+" 1048576")
	}
	group := start()
	opt := target.Options{Daemons: []dockerapi.Address{{Host: d.Host, Source: "the test"}}}
	l := limitLab{opt, t.TempDir()}
	run := filepath.Join(t.TempDir(), "run") // No daemon of this machine has a say.
	set := []string{"set", "docker:on", "--path", "/data", "--write-bps", "1MiB", "--run", run}
	const rule = "rules:\n      - name: 'on'\n        match: {engine: docker, name: 'on'}\n        where: {path: /data}\n        limits: {write_bps: 1MiB}\n"
	l.says(t, exitDone, []string{"note: these limits end when the container restarts. plimsoll daemon keeps them across restarts, with this in /etc/plimsoll/policy.yaml:\n\n    " + rule}, set...)
	if !has(group) {
		t.Error("the limit was not set")
	}

	// All that is limited, and by whom: the engine's memory, and what limit set has set.
	by := l.setBy(t, "docker:on", "--run", run)
	if got := by["write_bps=1MiB "+number]; !strings.HasPrefix(got, "plimsoll limit set, ") {
		t.Errorf("the rate was set by %q: %q", got, by)
	}
	if got := by["memory=256MiB"]; !strings.Contains(got, "has it stored") {
		t.Errorf("the memory was set by %q: %q", got, by)
	}
	if text := l.do(t, exitDone, "show", "--run", run); !strings.Contains(text, "SET BY") || !strings.Contains(text, "docker:on") {
		t.Errorf("show: %s", text)
	}
	l.says(t, exitUsage, []string{"one TARGET at most"}, "show", "a", "b")

	if group = start(); has(group) {
		t.Fatal("the limit has survived a restart: what set says of it is wrong")
	}
	// Where the engine doesn't store it, the refusal has the rule.
	if os.Getenv("PLIMSOLL_DOCKERD") == "" { // Debian's; the current one stores it.
		l.says(t, exitCannot, []string{"Or set them without --keep, and let plimsoll daemon keep them across restarts", rule}, append(set, "--keep")...)
	}

	// The policy is one, and holds over a restart.
	var done struct{ Policy string }
	if err := json.Unmarshal([]byte(l.do(t, exitDone, append(set, "--json")...)), &done); err != nil {
		t.Fatal(err)
	}
	if _, err := policy.Parse("policy", []byte(done.Policy)); err != nil {
		t.Fatalf("%v:\n%s", err, done.Policy)
	}
	k := keepText(t, opt, done.Policy)
	group = start()
	k.until(t, "the limit is there after a restart", func() bool { return has(group) })
}
