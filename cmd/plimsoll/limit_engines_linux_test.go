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

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"plimsoll/internal/container/dockerapi"
	"plimsoll/internal/container/target"
	"plimsoll/internal/limit/judge"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/testkit/texttest"
)

// A limitLab is engines of a test's own.
type limitLab struct {
	targets target.Options
	state   string
}

// run runs a command of limit.
func (l limitLab) run(t *testing.T, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, targets: &l.targets}
	status := a.run(t.Context(), slices.Concat([]string{"limit"}, args, []string{"--state", l.state}))
	return result{status, out.String(), errs.String()}
}

// do runs a command of limit, fails the test if it ends with another status, and returns what it printed. A verify that is to prove
// something may find the machine too busy for it, and is tried again.
func (l limitLab) do(t *testing.T, status int, args ...string) string {
	t.Helper()
	r := l.run(t, args...)
	for try := 1; try < 4 && status != exitCannot && tooBusy(r.stdout); try++ {
		r = l.run(t, args...)
	}
	if r.status != status {
		t.Errorf("limit %v: status %d, want %d:\n%s%s", args, r.status, status, r.stdout, r.stderr)
	}
	return r.stdout + r.stderr
}

// tooBusy reports whether verify says of a row that other work kept it from a proof.
func tooBusy(text string) bool {
	return strings.Contains(text, "something else was slower than the limit") || strings.Contains(text, "the rate was uneven")
}

// holds verifies that so many rows are held. A busy machine may keep the worker from reaching the limit: that is unproved, and is tried
// again.
func (l limitLab) holds(t *testing.T, rows int, args ...string) {
	t.Helper()
	for try := 1; ; try++ {
		var out, errs bytes.Buffer
		a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, targets: &l.targets}
		status := a.run(t.Context(), append(append([]string{"limit"}, args...), "--state", l.state))
		n := strings.Count(out.String(), "  held: asked")
		if status == exitDone && n == rows {
			return
		}
		// A mode that can't test a limit is none of these rows.
		if unproved := strings.Count(out.String(), "unproved: ") - strings.Count(out.String(), "can't test them"); try == 4 || status != exitDone && status != exitCannot || n+unproved != rows {
			t.Errorf("limit %v: status %d, %d of %d held:\n%s%s", args, status, n, rows, out.String(), errs.String())
			return
		}
	}
}

// proves sets a limit on a container's /data, proves that it holds, and clears it.
func (l limitLab) proves(t *testing.T, name string, where ...string) {
	t.Helper()
	l.do(t, exitDone, append([]string{"set", name, "--write-bps", "8MiB"}, where...)...)
	l.holds(t, 1, append([]string{"verify", name, "--modes", "direct", "--time", "3s"}, where...)...)
	l.clears(t, name)
}

// clears clears a container's limits, and nothing is left of them.
func (l limitLab) clears(t *testing.T, name string) {
	t.Helper()
	l.do(t, exitDone, "clear", name)
	if text := l.do(t, exitDone, "show", name); !strings.Contains(text, "no limits") {
		t.Errorf("%s: after clear: %s", name, text)
	}
}

func needBlkio(t *testing.T) {
	t.Helper()
	needRun(t)
	if _, err := os.Stat("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"); err != nil {
		t.Skip("needs the blkio controller of version 1")
	}
}

// fastDisk is a disk with a file system, in memory. It has room for verify's scratch files of high rates; what isn't
// written takes none.
func fastDisk(t *testing.T) (loop, dir string) {
	t.Helper()
	return disktest.Disk(t, disktest.Options{Size: 1 << 30, Memory: true})
}

// sleeperRoot is a container's root folder with a program that waits.
func sleeperRoot(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "rootfs")
	for _, d := range []string{"proc", "dev", "sys", "data"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeProgram(t, filepath.Join(root, "sleeper"), string(dockertest.Sleeper(t)))
	return root
}

// TestLimitPodman: limits of a container of Podman's hold.
func TestLimitPodman(t *testing.T) {
	t.Parallel() // It waits most of the time.
	needBlkio(t)
	loop, dir := fastDisk(t)
	d := dockertest.SharedPodman(t)
	api, err := client.New(client.WithHost(d.Host))
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	dockertest.ImportSleeper(t, api)
	c, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: "web", Config: &container.Config{Image: dockertest.SleeperImage, Entrypoint: []string{"/sleeper"}},
		HostConfig: &container.HostConfig{NetworkMode: "host", Mounts: []mount.Mount{{Type: mount.TypeBind, Source: dir, Target: "/data"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := api.ContainerRemove(context.Background(), c.ID, client.ContainerRemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	})
	if _, err := api.ContainerStart(t.Context(), c.ID, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	l := limitLab{target.Options{Daemons: []dockerapi.Address{{Host: d.Host, Source: "the test"}}}, t.TempDir()}
	l.proves(t, "web", "--path", "/data")
	// Podman 4 keeps no update.
	if text := l.do(t, exitCannot, "set", "web", "--device", loop, "--write-bps", "1MiB", "--keep"); !strings.Contains(text, "Podman 5") {
		t.Errorf("--keep: %s", text)
	}
}

// TestLimitProbe: a volume that no container uses is tried from one made for it, which goes with the trial, and the
// volume stays.
func TestLimitProbe(t *testing.T) {
	t.Parallel() // It waits most of the time.
	needBlkio(t)
	image := disktest.Image(t, 256<<20)
	loop := disktest.Loop(t, image, true)
	disktest.Format(t, loop, "ext4")
	d := dockertest.SharedDocker(t)
	api := clientOf(t, d)
	if _, err := api.VolumeCreate(t.Context(), client.VolumeCreateOptions{Name: "probed", DriverOpts: map[string]string{"type": "ext4", "device": loop}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := api.VolumeRemove(context.Background(), "probed", client.VolumeRemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	})
	l := limitLab{target.Options{Daemons: []dockerapi.Address{{Host: d.Host, Source: "the test"}}}, t.TempDir()}
	_, text := l.judgedAt(t, 8<<20, "verify", "volume:probed", "--probe", "--write-bps", "8MiB", "--modes", "direct") // TestLimitPodmanVolume measures.
	texttest.Has(t, text, []string{"a probe container, volume probed, on " + filepath.Base(loop)})
	list, err := api.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("volume", "probed")})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("containers %+v, %v", list.Items, err)
	}
	if _, err := api.VolumeInspect(t.Context(), "probed", client.VolumeInspectOptions{}); err != nil {
		t.Errorf("the volume: %v", err)
	}
	// Its group has gone with it.
	b, err := os.ReadFile("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device")
	if err != nil || strings.Contains(string(b), disktest.Number(t, loop)+" ") {
		t.Errorf("the root group has %q, %v", b, err)
	}
	for _, row := range []struct {
		status int
		words  string
		args   []string
	}{
		{exitCannot, "no limit on I/O that could be tried", []string{"volume:probed"}},
		{exitUsage, "--probe tries a volume", []string{"pid:1"}},
		{exitFailure, "there is no volume", []string{"volume:prabed"}},
	} {
		if text := l.do(t, row.status, append([]string{"verify", "--probe", "--time", "3s"}, row.args...)...); !strings.Contains(text, row.words) {
			t.Errorf("%v: no %q in %s", row.args, row.words, text)
		}
	}
}

// TestLimitContainerd: limits of a container that ctr runs are those of its group, and a worker is put there.
func TestLimitContainerd(t *testing.T) {
	t.Parallel() // It waits most of the time.
	needBlkio(t)
	_, dir := fastDisk(t)
	d := dockertest.SharedContainerd(t)
	ctr := func(words ...string) ([]byte, error) {
		cmd := exec.Command(d.Command[0], append(slices.Clone(d.Command[1:]), words...)...)
		cmd.Env = d.Env
		return cmd.CombinedOutput()
	}
	if out, err := ctr("run", "--detach", "--null-io", "--mount", "type=bind,src="+dir+",dst=/data,options=rbind:rw", "--rootfs", sleeperRoot(t), "web", "/sleeper"); err != nil {
		t.Fatalf("ctr run: %v: %s", err, out)
	}
	t.Cleanup(func() {
		for _, words := range [][]string{{"tasks", "rm", "-f", "web"}, {"containers", "rm", "web"}} {
			if out, err := ctr(words...); err != nil {
				t.Errorf("ctr %v: %v: %s", words, err, out)
			}
		}
	})
	l := limitLab{target.Options{Containerd: []target.ContainerdRoot{{State: d.ContainerdState(), Address: strings.TrimPrefix(d.Host, "unix://")}}}, t.TempDir()}
	l.reaches(t, "containerd:web", "--path", "/data")
	if text := l.do(t, exitCannot, "set", "web", "--path", "/data", "--write-bps", "1MiB", "--keep"); !strings.Contains(text, "recreate the container") {
		t.Errorf("--keep: %s", text)
	}
}

// TestLimitRuntimes: limits of containers that runc and crun run alone are those of their groups, also of one whose group isn't called after
// it. Those of runc's are measured.
func TestLimitRuntimes(t *testing.T) {
	t.Parallel() // It waits most of the time.
	needBlkio(t)
	parent := fmt.Sprintf("/plimsoll-limit-%d", os.Getpid())
	t.Cleanup(func() {
		// The runtime removes the last of a path only.
		groups, _ := filepath.Glob("/sys/fs/cgroup/*" + parent)
		for _, g := range groups {
			os.Remove(g)
		}
	})
	for _, tt := range []struct{ name, cgroup string }{{"runc", ""}, {"runc", parent + "/app"}, {"crun", ""}} {
		name := tt.name
		t.Run(name+tt.cgroup, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("needs %s: apt-get install %s", name, name)
			}
			_, dir := fastDisk(t)
			path = firstVersionAlone(t, path)
			id := fmt.Sprintf("plimsoll-limit-%d-%s", os.Getpid(), name)
			state := runBundle(t, path, id, dir, tt.cgroup)
			l := limitLab{target.Options{Runc: []string{state}}, t.TempDir()}
			if name == "crun" {
				l.targets.Runc, l.targets.Crun = nil, []string{state}
			}
			if text := l.do(t, exitDone, "clear", "oci:"+id); !strings.Contains(text, "config.json has stored cpu_shares=512") {
				t.Errorf("clear doesn't say what the bundle has: %s", text)
			}
			if tt.cgroup == "" {
				l.provesStored(t, "oci:"+id, name == "runc")
				return
			}
			// It is found by its state, and measured in the group that it is in.
			l.do(t, exitDone, "set", "oci:"+id, "--path", "/data", "--write-bps", "8MiB")
			asked, _ := l.judged(t, judge.Held, exitDone, nil, "verify", "oci:"+id, "--path", "/data")
			if len(asked) != 1 || !strings.HasSuffix(asked[0].Group.Dir, tt.cgroup) {
				t.Errorf("verify would measure %+v, want it in %s", asked, tt.cgroup)
			}
		})
	}
}

// runBundle has a runtime run a container that waits, with a folder of the host as its /data, in a group of its own name or else of
// cgroup's, with 512 CPU shares, until the test ends. It returns the folder of the runtime's state.
func runBundle(t *testing.T, path, id, dir, cgroup string) (state string) {
	t.Helper()
	name := filepath.Base(path)
	root := sleeperRoot(t)
	bundle, state := filepath.Dir(root), filepath.Join(t.TempDir(), name)
	spec := exec.Command(path, "spec")
	spec.Dir = bundle
	if out, err := spec.CombinedOutput(); err != nil {
		t.Fatalf("%s spec: %v: %s", name, err, out)
	}
	editJSON(t, filepath.Join(bundle, "config.json"), func(c map[string]any) {
		process := c["process"].(map[string]any)
		process["terminal"], process["args"] = false, []string{"/sleeper"}
		c["mounts"] = append(c["mounts"].([]any), map[string]any{"destination": "/data", "type": "bind", "source": dir, "options": []string{"rbind", "rw"}})
		if cgroup != "" {
			c["linux"].(map[string]any)["cgroupsPath"] = cgroup
		}
		c["linux"].(map[string]any)["resources"].(map[string]any)["cpu"] = map[string]any{"shares": 512}
	})
	startBundle(t, path, state, bundle, id)
	return state
}

// startBundle has a runtime, whose state is in a folder, run a bundle's container until the test ends.
func startBundle(t *testing.T, path, state, bundle, id string) {
	t.Helper()
	words, err := os.Create(filepath.Join(bundle, "words"))
	if err != nil {
		t.Fatal(err)
	}
	defer words.Close()
	run := exec.Command(path, "--root", state, "run", "--detach", "--bundle", bundle, id)
	run.Stdout, run.Stderr = words, words // The container keeps them open.
	t.Cleanup(func() { exec.Command(path, "--root", state, "delete", "--force", id).Run() })
	if err := run.Run(); err != nil {
		b, _ := os.ReadFile(words.Name())
		t.Fatalf("%s run: %v: %s", path, err, b)
	}
}

// provesStored is proves, or reaches if nothing is to be measured, of a container whose config.json has limits of its own.
func (l limitLab) provesStored(t *testing.T, name string, measure bool) {
	t.Helper()
	l.do(t, exitDone, "set", name, "--path", "/data", "--write-bps", "8MiB")
	if verify := []string{"verify", name, "--path", "/data", "--modes", "direct"}; measure {
		l.holds(t, 1, append(verify, "--time", "3s")...)
	} else {
		l.judgedAt(t, 8<<20, verify...)
	}
	if text := l.do(t, exitDone, "clear", name, "--path", "/data"); !strings.Contains(text, "cleared") || strings.Contains(text, "cpu_shares") {
		t.Errorf("%s: clear of a path's limits: %s", name, text)
	}
}

func editJSON(t *testing.T, file string, edit func(map[string]any)) {
	t.Helper()
	var c map[string]any
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	edit(c)
	if b, err = json.Marshal(c); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
}
