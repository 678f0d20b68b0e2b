package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/testkit/texttest"
	"plimsoll/internal/watch"
)

// A writer is a shell in a container's group that writes to its volume, until the test ends.
type writer struct {
	dir   string
	group string
}

// start runs a command in the container's group of I/O, and of version 2, where pressure is.
func (w writer) start(t *testing.T, command string) (wait func()) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "read go; "+command)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, h := range []string{"/sys/fs/cgroup/blkio", "/sys/fs/cgroup/unified"} {
		if err := disktest.Group(h + w.group).Add(cmd.Process.Pid); err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
	}
	fmt.Fprintln(in, "go")
	return func() {
		t.Helper()
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v: %s", command, err, out.String())
		}
	}
}

// TestWatch watches a container which writes to a volume with a loop device of its own.
func TestWatch(t *testing.T) {
	t.Parallel()
	needRun(t)
	if _, err := os.Stat("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"); err != nil {
		t.Skip("needs the blkio controller of version 1")
	}
	d := dockertest.SharedDocker(t)
	api := findsDocker(t, d)
	setVariable(t, "CONTAINER_HOST", "unix://"+filepath.Join(d.Dir, "no-podman.sock"))
	waiting(t, api, d, "shown", "seen")
	is, err := api.ContainerInspect(t.Context(), "shown", client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w := writer{dir: filepath.Join(d.Dir, "root", "volumes", "seen", "_data"), group: d.CgroupParent + "/" + is.Container.ID}
	state := t.TempDir()
	do := func(status int, args ...string) string {
		t.Helper()
		r := plimsoll(t, t.Context(), state, "", args...)
		if r.status != status {
			t.Fatalf("%v: status %d, want %d:\n%s%s", args, r.status, status, r.stdout, r.stderr)
		}
		return r.stdout + r.stderr
	}
	interval := func(args ...string) (watch.Interval, string) {
		t.Helper()
		text := do(exitDone, append([]string{"watch", "--once", "--json"}, args...)...)
		var i watch.Interval
		if err := json.Unmarshal([]byte(text), &i); err != nil || strings.Count(text, "\n") != 1 {
			t.Fatalf("%v: %v: %s", args, err, text)
		}
		return i, text
	}
	web := func(i watch.Interval) watch.Usage {
		t.Helper()
		n := slices.IndexFunc(i.Subjects, func(u watch.Usage) bool { return u.Ref == "docker:shown" })
		if n < 0 {
			t.Fatalf("docker:shown isn't watched: %+v, notes %q", i.Subjects, i.Notes)
		}
		return i.Subjects[n]
	}
	// The kernel counts on the new device from its first limit on.
	i, text := interval("shown")
	u := web(i)
	if n := slices.IndexFunc(u.Devices, func(c watch.Charge) bool { return strings.HasPrefix(c.Name, "loop") }); n < 0 || u.Devices[n].Places[0] != "volume seen" {
		t.Errorf("devices: %+v", u.Devices)
	} else if c := u.Devices[n]; c.Read == nil && !strings.Contains(text, `"read":null,"write":null,"why":"the kernel counts there only once any group`) {
		t.Errorf("a device that isn't counted: %s", text)
	}
	do(exitDone, "limit", "set", "shown", "--volume", "seen", "--write-bps", "200MiB")

	// 100 MiB that are written through the loop device are 100 MiB.
	wait := w.start(t, "sleep 1; dd if=/dev/zero of="+w.dir+"/file bs=1M count=100 oflag=direct conv=fsync status=none; sleep 3")
	i, text = interval("--interval", "4s")
	wait()
	u = web(i)
	const mib = 1 << 20
	if u.Write == nil || u.Write.Bytes < 100*mib || u.Write.Bytes > 104*mib {
		t.Errorf("100 MiB through a loop device are %+v\n%s", u.Write, text)
	}
	if u.App == nil {
		t.Fatal("the application is unknown")
	}
	if n := u.App.StorageWritten; n < 100*mib || n > 101*mib {
		t.Errorf("the application wrote %d bytes to storage, want 100 MiB", n)
	}
	if n := u.App.WriteCalls.Bytes; n < 100*mib {
		t.Errorf("the application's calls wrote %d bytes, want 100 MiB", n)
	}
	// Tests beside this one have volumes, too.
	n := slices.IndexFunc(i.Volumes, func(v watch.VolumeUse) bool {
		return v.Ref == "volume:docker:seen" && slices.Equal(v.Users, []string{"docker:shown"})
	})
	if n < 0 {
		t.Errorf("the volume is not among %+v", i.Volumes)
	} else if w := i.Volumes[n].Write; w == nil || w.Bytes < 100*mib || w.Bytes > 104*mib {
		t.Errorf("100 MiB in the volume are %+v", w)
	}
	if i.RootGroup == nil {
		t.Error("version 1 has a root group")
	}

	// At the limit, it waits.
	do(exitDone, "limit", "set", "shown", "--volume", "seen", "--write-bps", "4MiB")
	for range 5 {
		wait = w.start(t, "dd if=/dev/zero of="+w.dir+"/file bs=64k count=320 oflag=direct status=none")
		time.Sleep(500 * time.Millisecond)
		i, text = interval("shown", "--interval", "3s")
		u = web(i)
		if len(u.Rates) != 1 || u.Rates[0].Standing != watch.Below {
			break
		}
		wait() // The machine was too busy to reach the limit.
	}
	if len(u.Rates) != 1 {
		t.Fatalf("%d limits, want 1: %s", len(u.Rates), text)
	}
	if r := u.Rates[0]; r.Standing != watch.At || r.Asked != 4*mib || r.Seen == nil {
		t.Errorf("standing %s, asked %d, seen %v; want %s, %d and a rate", r.Standing, r.Asked, r.Seen, watch.At, 4*mib)
	}
	if _, err := os.Stat("/sys/fs/cgroup/unified" + w.group + "/io.pressure"); err == nil && (u.Waits == nil || u.Waits.Some < 1) {
		t.Errorf("waits: %+v, of a process that only waits\n%s", u.Waits, text)
	}
	wait()

	// Bytes left in the page cache are not 0.
	wait = w.start(t, "sleep 0.5; dd if=/dev/zero of="+w.dir+"/file2 bs=1M count=40 status=none; sleep 2.5")
	text = do(exitDone, "watch", "shown", "volume:seen", "--once", "--interval", "2s")
	wait()
	texttest.Has(t, text, []string{"docker:shown", "calls of 3 processes", "for storage", ": volume seen", "not charged yet, or to no group", "≥ ", "write_bps 4 MiB/s", "(root group)", "volume:docker:seen", "Device            r/s"})
	testWatchLive(t, d, api, state)

	for _, row := range []struct {
		status int
		words  string
		args   []string
	}{
		{exitFailure, "there is no container wep", []string{"wep", "--once"}},
		{exitFailure, "there is no container wep", []string{"shown", "wep"}},
		{exitUsage, "no kind of target", []string{"dokcer:web"}},
		{exitUsage, "--interval 10ms: write 100ms to 1h", []string{"--interval", "10ms"}},
		{exitUsage, "--interval", []string{"--interval", "5"}},
		{exitUsage, "--count -1 is negative", []string{"--count", "-1"}},
		{exitUsage, "leave out one of the two", []string{"--once", "--count", "2"}},
		{exitUsage, "leave out shown or --devices", []string{"--devices", "shown"}},
	} {
		if text := do(row.status, append([]string{"watch"}, row.args...)...); !strings.Contains(text, row.words) {
			t.Errorf("watch %v: no %q in:\n%s", row.args, row.words, text)
		}
	}
}

// testWatchLive watches while containers come and go, until it is interrupted.
func testWatchLive(t *testing.T, d *dockertest.Daemon, api *client.Client, state string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &watched{lines: make(chan watch.Interval, 100)}
	done := make(chan int, 1)
	go func() {
		a := &app{stdin: strings.NewReader(""), stdout: out, stderr: &bytes.Buffer{}, stateDir: state, env: environment(t)}
		done <- a.run(ctx, []string{"watch", "--json", "--interval", "200ms"})
	}()
	until := func(what string, ok func(watch.Interval) bool) {
		t.Helper()
		for end := time.After(60 * time.Second); ; {
			select {
			case i := <-out.lines:
				if ok(i) {
					return
				}
			case <-end:
				t.Fatalf("%s is not seen", what)
			}
		}
	}
	running := func(ref string) func(watch.Interval) bool {
		return func(i watch.Interval) bool {
			return slices.ContainsFunc(i.Subjects, func(u watch.Usage) bool { return u.Ref == ref && u.App != nil && !u.Ended })
		}
	}
	until("shown", running("docker:shown"))
	if _, err := api.ContainerStop(t.Context(), "shown", client.ContainerStopOptions{}); err != nil {
		t.Fatal(err)
	}
	until("the end of it", func(i watch.Interval) bool { return !running("docker:shown")(i) })
	if _, err := api.ContainerStart(t.Context(), "shown", client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	until("it, started again", running("docker:shown"))
	cancel()
	if status := <-done; status != exitDone {
		t.Errorf("interrupted: status %d, want %d: that is how one ends it", status, exitDone)
	}
}

// watched reads lines of JSON.
type watched struct {
	rest  []byte
	lines chan watch.Interval
}

func (w *watched) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, ok := bytes.Cut(w.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		var i watch.Interval
		if err := json.Unmarshal(line, &i); err != nil {
			return 0, err
		}
		w.rest = slices.Clone(rest)
		w.lines <- i
	}
}
