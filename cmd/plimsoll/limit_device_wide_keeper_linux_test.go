package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/container/target"
	"plimsoll/internal/daemon"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/testkit/disktest"
)

// TestLimitRootGroupKeeper: what a keeper holds the root group to is shown, and what one has left there is cleared.
func TestLimitRootGroupKeeper(t *testing.T) {
	lab, loop, _, says := deviceWideLab(t)
	number, dir := disktest.Number(t, loop), t.TempDir()
	a := &app{targets: &lab.targets}
	l, err := a.newHolder()
	mustDo(t, err)
	defer l.Finder.Close()
	policy, run := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "run")
	mustDo(t, os.WriteFile(policy, []byte("rules:\n- {name: one, match: all, where: {device: "+loop+", device_wide: true}, limits: {write_bps: 5MiB}}\n"), 0o600))
	k, err := daemon.New(keeper.Options{Holder: l, Policy: policy, Run: run, DeviceLimits: l.DeviceLimits(a.machine())})
	mustDo(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- k.Run(ctx) }()
	group := disktest.NewBlkioGroup(t)
	k.Started(target.Target{Kind: target.Cgroup, Name: string(group), Running: true})
	for end := time.Now().Add(time.Minute); rootHas(t, "write_bps", loop) != "5242880" && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	at := []string{"--device-wide", "--run", run}
	shown := []string{"set for rule one of plimsoll daemon: write_bps=5MiB", "has write_bps=5MiB"}
	says(exitDone, shown, append([]string{"show"}, at...)...)
	says(exitDone, []string{"stays in the root group", "change its policy instead"}, append([]string{"clear"}, at...)...)
	if got := rootHas(t, "write_bps", loop); got != "5242880" {
		t.Errorf("cleared under a keeper: the root group has %q", got)
	}
	cancel()
	mustDo(t, <-ended)
	mustDo(t, k.Close())

	says(exitDone, shown, append([]string{"show"}, at...)...)
	// A clear of the group's own limit reports the daemon's limit in the root group.
	says(exitDone, []string{"the root group still has write_bps=5MiB on " + filepath.Base(loop) + ", for rule one of plimsoll daemon", "clear --device-wide --device " + loop + " removes it"},
		"clear", "cgroup:"+string(group), "--device", loop, "--run", run)
	if text := says(exitDone, []string{"no limit is recorded as set in the root group"}, append([]string{"clear", "--only", "read_bps"}, at...)...); strings.Contains(text, "cleared") {
		t.Errorf("another key: %s", text)
	}
	says(exitDone, []string{"would write"}, append([]string{"clear", "--dry-run"}, at...)...)
	if got := rootHas(t, "write_bps", loop); got != "5242880" {
		t.Errorf("--dry-run: the root group has %q", got)
	}
	says(exitDone, []string{"the root group, for " + filepath.Base(loop) + " (" + number + "): cleared"}, append([]string{"clear"}, at...)...)
	if got := rootHas(t, "write_bps", loop); got != "" {
		t.Errorf("cleared: the root group has %q", got)
	}
	says(exitDone, []string{"no limit is recorded as set there"}, append([]string{"show"}, at...)...)
}
