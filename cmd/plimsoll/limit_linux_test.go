package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/container/target"
	"plimsoll/internal/limit"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/measure/workerbin"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/text/size"
)

// importWorker makes an image of the worker alone: what a container needs that only waits.
func importWorker(t *testing.T, api *client.Client, name string) {
	t.Helper()
	if _, err := api.ImageInspect(t.Context(), name); err == nil {
		return
	}
	program, err := workerbin.Bytes("linux", runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []tar.Header{{Name: "w", Mode: 0o755, Size: int64(len(program))}, {Name: "data/", Typeflag: tar.TypeDir, Mode: 0o755}} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write(program); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	res, err := api.ImageImport(t.Context(), client.ImageImportSource{Source: &b, SourceName: "-"}, name, client.ImageImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Close()
	if _, err := io.Copy(io.Discard, res); err != nil {
		t.Fatal(err)
	}
}

// waiting starts a container that waits, with a volume on a disk of its own at /data.
func waiting(t *testing.T, api *client.Client, d *dockertest.Daemon, name, volume string) {
	t.Helper()
	image := disktest.Image(t, 512<<20)
	loop := disktest.Loop(t, image, true)
	disktest.Format(t, loop, "ext4")
	importWorker(t, api, "plimsoll-test-limit:1")
	if _, err := api.VolumeCreate(t.Context(), client.VolumeCreateOptions{Name: volume, DriverOpts: map[string]string{"type": "ext4", "device": loop}}); err != nil {
		t.Fatal(err)
	}
	res, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name:   name,
		Config: &container.Config{Image: "plimsoll-test-limit:1", Cmd: []string{"/w", "agent", "--dir", "/data"}, OpenStdin: true},
		HostConfig: &container.HostConfig{
			NetworkMode: "host", Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: volume, Target: "/data"}},
			Resources: container.Resources{CgroupParent: d.CgroupParent},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		if _, err := api.ContainerRemove(ctx, res.ID, client.ContainerRemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
		if _, err := api.VolumeRemove(ctx, volume, client.VolumeRemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
		disktest.Detach(t, image)
	})
	if _, err := api.ContainerStart(t.Context(), res.ID, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
}

// triedVerify tries an example of verify, whose rows are taken as held: what it would measure are the container's limits on its volume, in
// its group, in the modes that the example names.
func triedVerify(t *testing.T, l limitLab, api *client.Client, d *dockertest.Daemon, all []string) {
	t.Helper()
	l.do(t, exitDone, "clear", "web")
	l.do(t, exitDone, "clear", "volume:data")
	l.do(t, exitDone, "set", "web", "--volume", "data", "--write-bps", "10MiB")
	is, err := api.ContainerInspect(t.Context(), "web", client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	group := d.CgroupParent + "/" + is.Container.ID
	probe := slices.Contains(all, "--probe")
	switch {
	case strings.HasPrefix(all[1], "cgroup:"):
		all[1], all[3] = "cgroup:"+group, filepath.Join(d.Dir, "root", "volumes", "data", "_data")
	case strings.HasPrefix(all[1], "pid:"):
		all[1], all[3] = fmt.Sprint("pid:", is.Container.State.Pid), "/data"
	case !probe && !slices.Contains(all, "--volume"):
		all = append(all, "--volume", "data")
	}
	rate, modes := "10MiB", []row.Mode(nil)
	for i, w := range all {
		switch w {
		case "--write-bps":
			rate = all[i+1]
		case "--modes":
			for _, m := range strings.Split(all[i+1], ",") {
				modes = append(modes, row.Mode(m))
			}
		}
	}
	asked, text := l.judged(t, judge.Held, exitDone, nil, all...)
	if len(asked) != 1 {
		t.Fatalf("%v would measure %d times, want once: %s", all, len(asked), text)
	}
	r := asked[0]
	if want, err := size.Parse(rate); err != nil || r.Asked[limit.WriteBPS] != want {
		t.Errorf("%v would measure against %v, want %s (%v)", all, r.Asked, rate, err)
	}
	if !slices.Equal(r.Modes, modes) {
		t.Errorf("%v would measure in %v, want %v", all, r.Modes, modes)
	}
	if in := strings.HasSuffix(r.Group.Dir, group); in == probe {
		t.Errorf("%v would measure in %s; the container's group is %s", all, r.Group.Dir, group)
	}
}

// TestLimit: limits of a container and of its volume are set, shown, proved by measuring, and cleared.
func TestLimit(t *testing.T) {
	t.Parallel() // It waits most of the time.
	needBlkio(t)
	d := dockertest.SharedDocker(t)
	api := clientOf(t, d)
	waiting(t, api, d, "web", "data")
	l := limitLab{target.Options{Daemons: []dockerapi.Address{{Host: d.Host, Source: "the test"}}}, t.TempDir()}
	do := func(status int, words []string, args ...string) string {
		t.Helper()
		return l.says(t, status, words, args...)
	}
	do(exitDone, []string{"container web: no limits"}, "show", "web")
	do(exitDone, []string{"container web: would write", "volume data: on loop", "its own layer: on"}, "set", "web", "--write-bps", "8MiB", "--dry-run")
	do(exitDone, []string{"no limits"}, "show", "web")
	on := do(exitDone, []string{"container web: set write_bps=8MiB", "memory=256MiB", "volume data: on loop"}, "set", "docker:web", "--volume", "data", "--write-bps", "8MiB", "--memory", "256MiB")
	_, on, _ = strings.Cut(on, "volume data: on ")
	on, _, _ = strings.Cut(on, " ")
	// Of all that the container has, what is on the device is tried.
	asked, _ := l.judged(t, judge.Held, exitDone, []string{"container web, volume data, on " + on, "held: asked 8 MiB/s"}, "verify", "web", "--device", "/dev/"+on)
	if len(asked) != 1 || asked[0].Device.Name != on || asked[0].Asked[limit.WriteBPS] != 8<<20 {
		t.Errorf("verify --device would measure %+v", asked)
	}
	do(exitDone, []string{"unchanged"}, "set", "web", "--volume", "data", "--write-bps", "8MiB")
	do(exitDone, []string{"memory=256MiB", "write_bps=8MiB", "loop"}, "show", "web")
	// The container's own group does not hold what the flusher writes back.
	do(exitNotHeld, []string{"limit NOT held: asked 8 MiB/s", "held: asked 8 MiB/s", "NOT held: 1 of 2 rows", "the kernel's flusher writes the data out, in the root group", "fix: plimsoll limit set web --volume data --write-bps 8MiB --device-wide"}, "verify", "web", "--volume", "data", "--time", "3s", "--modes", "direct,buffered")
	do(exitDone, []string{"container web: cleared"}, "clear", "web")
	do(exitDone, []string{"no limits"}, "show", "web")
	// The volume has a device of its own: it is held there, too.
	do(exitDone, []string{"container web: set write_bps=8MiB", "the root group, which does the writeback of other groups: set write_bps=8MiB"}, "set", "volume:data", "--write-bps", "8MiB")
	out := do(exitDone, nil, "verify", "volume:data", "--time", "3s", "--modes", "buffered", "--json")
	var got []struct {
		Rows []struct{ Verdict, Mode string }
	}
	if err := json.Unmarshal([]byte(out[strings.Index(out, "["):strings.LastIndex(out, "]")+1]), &got); err != nil {
		t.Fatalf("verify --json: %v", err)
	}
	if len(got) != 1 || len(got[0].Rows) != 1 || got[0].Rows[0].Verdict != "held" {
		t.Errorf("verify --json: %+v, want one row that is held", got)
	}
	do(exitDone, []string{"docker:web, volume data (/data)", "volume:docker:data, "}, "explain", "docker:web", "volume:data")
	do(exitDone, []string{"set for volume:docker:data", "write_bps=8MiB"}, "show", "volume:data")
	do(exitDone, []string{"web: cleared"}, "clear", "volume:data")
	do(exitDone, []string{"container web: no limits", "the root group, which does the writeback of other groups: no limits"}, "show", "volume:data")
	// Nothing is left of the trials.
	if left, _ := filepath.Glob(filepath.Join(d.Dir, "root", "volumes", "data", "_data", "plimsoll*")); len(left) > 0 {
		t.Errorf("left %q", left)
	}

	// The examples of the manual and of the help.
	var tried []string
	volumes := strings.NewReplacer("webdata2", "data", "webdata", "data")
	for _, line := range examples(t) {
		args, ok := strings.CutPrefix(line, "plimsoll limit ")
		if !ok || strings.HasPrefix(args, "explain /") || strings.HasPrefix(args, "explain PATH") || strings.HasPrefix(args, "hook") || strings.HasPrefix(args, "cost") || strings.Contains(args, "--enable-weights") {
			continue // TestHookRuntime tries the hook, and TestLimitCostReal cost. Enabling changes a disk: TestLimitWeights does it with one of its own.
		}
		if !strings.HasPrefix(args, "verify") && slices.ContainsFunc([]string{"pid:", "cgroup:", "--keep", "--latency"}, func(w string) bool { return strings.Contains(args, w) }) {
			continue // TestLimitOfProcess and others have targets of their own; refusals of this engine and kernel have tests of their own.
		}
		// The manual's new volume is this test's, too.
		if args = volumes.Replace(args); slices.Contains(tried, args) {
			continue
		}
		tried = append(tried, args)
		status, words := exitDone, []string(nil)
		all := strings.Fields(args)
		if all[0] == "verify" {
			triedVerify(t, l, api, d, all)
			continue
		}
		if all[0] == "set" { // A device's limit for all its users has one owner.
			do(exitDone, nil, "clear", "web")
			do(exitDone, nil, "clear", "volume:data")
		}
		if strings.Contains(line, "%") { // Nothing was measured here.
			status, words = exitUsage, []string{"plimsoll run measures it"}
		}
		do(status, words, all...)
	}
	if len(tried) < 8 {
		t.Errorf("only %d examples of limit were found: %q", len(tried), tried)
	}
	do(exitDone, nil, "clear", "volume:data")
	do(exitDone, nil, "clear", "web")

	for _, row := range []struct {
		status int
		words  string
		args   []string
	}{
		{exitUsage, "no measured rate", []string{"set", "web", "--volume", "data", "--write-bps", "25%"}},
		{exitUsage, "and this is on 2", []string{"set", "web", "--write-bps", "25%"}},
		{exitUsage, "it has data", []string{"set", "web", "--volume", "date", "--write-bps", "1MiB"}},
		{exitFailure, "there is no container wep", []string{"set", "wep", "--write-bps", "1MiB"}},
		{exitUsage, "there is no /nowhere in docker:web", []string{"set", "web", "--path", "/nowhere", "--write-bps", "1MiB"}},
		{exitCannot, "can't be limited here", []string{"set", "web", "--path", "/dev/shm", "--write-bps", "1MiB"}},
		{exitCannot, "it has no limit on I/O that could be tried", []string{"verify", "web"}},
	} {
		do(row.status, []string{row.words}, row.args...)
	}
	do(exitDone, []string{"no limits"}, "show", "web")
}
