package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/testkit/leaktest"
)

// A hookLab is a built plimsoll with a policy for one disk.
type hookLab struct {
	dir, program, policy, run string
	// number is the disk's.
	number string
}

// builtFolder is where builtPlimsoll builds, "" until it is first asked for. TestMain removes it.
var builtFolder string

// builtPlimsoll is the path of a plimsoll that runtimes can run, built once.
var builtPlimsoll = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "plimsoll-test-built")
	if err != nil {
		return "", err
	}
	builtFolder = dir
	program := filepath.Join(dir, "plimsoll")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w: %s", err, out)
	}
	return program, nil
})

func newHookLab(t *testing.T, rules string) *hookLab {
	t.Helper()
	needRun(t)
	if _, err := os.Stat("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"); err != nil {
		t.Skip("needs the blkio controller of version 1")
	}
	dir := t.TempDir()
	l := &hookLab{dir: dir, program: filepath.Join(dir, "plimsoll"), policy: filepath.Join(dir, "policy.yaml"), run: filepath.Join(dir, "run")}
	program, err := builtPlimsoll()
	if err != nil {
		t.Fatal(err)
	}
	// A link, and no copy: what was written by a process that starts others may be busy when it is run.
	mustDo(t, os.Link(program, l.program))
	disk := disktest.Loop(t, disktest.Image(t, 16<<20), false)
	l.number = disktest.Number(t, disk)
	l.put(t, strings.ReplaceAll(rules, "DISK", disk))
	return l
}

func (l *hookLab) put(t *testing.T, policy string) {
	t.Helper()
	if err := os.WriteFile(l.policy, []byte(policy), 0o644); err != nil {
		t.Fatal(err)
	}
}

// hook is the command line of the hook.
func (l *hookLab) hook() []string {
	return []string{"plimsoll", "limit", "hook", "--policy", l.policy, "--run", l.run, "--state", l.dir}
}

// limited is what a group may write to the disk a second, "" for no limit.
func (l *hookLab) limited(t *testing.T, group string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("/sys/fs/cgroup/blkio", group, "blkio.throttle.write_bps_device"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), l.number+" "); ok {
			return v
		}
	}
	return ""
}

const hookRules = "rules:\n- {name: all, match: all, where: {device: DISK}, limits: {write_bps: 3MiB}}\n"

// TestHookRuntime: a container of runc's or crun's, whose bundle the wrapper gives the hook, is held when it was created and has
// not begun, and doesn't come about if the policy can't be kept.
func TestHookRuntime(t *testing.T) {
	t.Parallel() // It waits most of the time, and its engine is its own.
	for _, runtime := range []string{"runc", "crun"} {
		t.Run(runtime, func(t *testing.T) { testHookRuntime(t, runtime) })
	}
}

// firstVersionAlone returns what runs an OCI runtime that refuses machines with both versions of control groups, as Debian 12's
// crun does: it is shown the first alone. Other runtimes it returns as they are.
func firstVersionAlone(t *testing.T, program string) string {
	if _, err := os.Stat("/sys/fs/cgroup/unified/cgroup.procs"); err != nil || filepath.Base(program) != "crun" {
		return program
	}
	// A file system that the host unmounts meanwhile is unmounted there, too.
	script := fmt.Sprintf("#!/bin/sh\nexec unshare --mount --propagation slave sh -c 'umount -l /sys/fs/cgroup/unified && exec %s \"$@\"' crun \"$@\"\n", program)
	program = filepath.Join(t.TempDir(), "crun.sh")
	writeProgram(t, program, script)
	return program
}

func testHookRuntime(t *testing.T, runtime string) {
	program, err := exec.LookPath(runtime)
	if err != nil {
		t.Skipf("needs %s: apt-get install %s", runtime, runtime)
	}
	l := newHookLab(t, hookRules)
	program = firstVersionAlone(t, program)
	id := fmt.Sprintf("plimsoll-hook-%s-%d", runtime, os.Getpid())
	leaktest.Check(t, id)
	bundle, root := filepath.Join(l.dir, "bundle"), filepath.Join(l.dir, runtime)
	for _, d := range []string{"proc", "dev"} {
		mustDo(t, os.MkdirAll(filepath.Join(bundle, "rootfs", d), 0o755))
	}
	writeProgram(t, filepath.Join(bundle, "rootfs", "sleeper"), string(dockertest.Sleeper(t)))
	config := map[string]any{
		"ociVersion": "1.0.2", "process": map[string]any{"args": []string{"/sleeper"}, "cwd": "/"},
		"root": map[string]any{"path": "rootfs"}, "mounts": []any{map[string]any{"destination": "/proc", "type": "proc", "source": "proc"}},
		"linux":       map[string]any{"cgroupsPath": "/" + id, "namespaces": []any{map[string]any{"type": "pid"}, map[string]any{"type": "mount"}}},
		"annotations": hostile(map[string]string{"team": "blue"}), "unknownKey": 9007199254740993,
	}
	oci := func(args ...string) (string, error) {
		argv := append([]string{"limit", "hook", "--policy", l.policy, "--run", l.run, "--state", l.dir, "--runtime", program, "--", "--root", root}, args...)
		out := new(bytes.Buffer)
		cmd := exec.Command(l.program, argv...)
		// A file and no pipe: the container keeps it open.
		f, err := os.CreateTemp(l.dir, "out")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cmd.Stdout, cmd.Stderr = f, f
		err = cmd.Run()
		_, _ = f.Seek(0, io.SeekStart)
		_, _ = out.ReadFrom(f)
		return out.String(), err
	}
	write := func() {
		t.Helper()
		b, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(bundle, "config.json"), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write()
	if out, err := oci("--version"); err != nil || !strings.Contains(out, runtime+" version") {
		t.Errorf("--version: %v: %s", err, out)
	}
	t.Cleanup(func() { _, _ = oci("delete", "--force", id) })
	if out, err := oci("create", "--bundle", bundle, id); err != nil {
		t.Fatalf("create: %v: %s", err, out)
	}
	if got := l.limited(t, id); got != "3145728" {
		t.Errorf("a container that was created and hasn't begun has %q", got)
	}
	b, err := os.ReadFile(filepath.Join(bundle, "config.json"))
	if err != nil || !bytes.Contains(b, []byte("9007199254740993")) || bytes.Count(b, []byte("limit")) != 1 {
		t.Errorf("config.json is %s, %v", b, err)
	}
	held, _ := filepath.Glob(filepath.Join(l.run, "journal", "container-limits", "*.json"))
	if len(held) != 1 {
		t.Errorf("the daemon is not told: %q", held)
	}
	if out, err := oci("delete", "--force", id); err != nil {
		t.Fatalf("delete: %v: %s", err, out)
	}
	// By a label, which is an annotation.
	l.put(t, strings.Replace(strings.ReplaceAll(hookRules, "DISK", "/dev/plimsoll-none"), "match: all", "match: {label: {team: blue}, engine: oci}", 1))
	refused := func(words ...string) {
		t.Helper()
		out, err := oci("create", "--bundle", bundle, id)
		log, logErr := os.ReadFile(filepath.Join(l.run, "hook.log"))
		if err == nil || logErr != nil {
			t.Errorf("a policy that can't be kept: %v, %v: %s", err, logErr, out)
		}
		for _, w := range words {
			if strings.ContainsAny(out+string(log), "\x1b\a") || strings.Contains("\n"+string(log), "\nplimsoll: all is well") {
				t.Errorf("a container's name gets through: %q, log %q", out, log)
			}
			// crun doesn't show what hooks say.
			if !bytes.Contains(log, []byte(w)) || runtime == "runc" && !strings.Contains(out, w) {
				t.Errorf("no %q in %s, or in the log:\n%s", w, out, log)
			}
		}
		if _, err := os.Stat("/sys/fs/cgroup/blkio/" + id); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the container that was refused has a group: %v", err)
		}
	}
	refused("oci:evil plimsoll: all is well: rule all can't be kept", "/dev/plimsoll-none")
	l.put(t, "rules: 5\n")
	refused("rules wants a list")
	if err := os.Remove(l.policy); err != nil {
		t.Fatal(err)
	}
	if out, err := oci("create", "--bundle", bundle, id); err != nil {
		t.Errorf("no policy: %v: %s", err, out)
	}
}

// hostile adds misleading annotations: a name that clears the screen and forges a
// message, paths that lead elsewhere, and 10,000 more.
func hostile(annotations map[string]string) map[string]string {
	for i := range 10000 {
		annotations[fmt.Sprintf("many/%d\n\x1b[2J", i)] = strings.Repeat("\x1b]0;x\a\n", 10)
	}
	annotations["nerdctl/name"] = "\x1b]0;x\aevil\nplimsoll: all is well"
	annotations["io.kubernetes.cri.sandbox-namespace"] = "../../../sys/fs/cgroup/blkio"
	annotations["cgroupsPath"] = "/../../.."
	return annotations
}

// TestHookPodman: Podman calls the hook from its folder of hooks.
func TestHookPodman(t *testing.T) {
	t.Parallel() // It waits most of the time.
	l := newHookLab(t, "rules:\n- {name: web, match: {engine: podman, name: \"web-*\", image: \"*sleeper*\"}, where: {device: DISK}, limits: {write_bps: 3MiB}}\n")
	d := dockertest.SharedPodman(t)
	hooks := filepath.Join(l.dir, "hooks.d")
	if err := os.Mkdir(hooks, 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{
		"version": "1.0.0", "hook": map[string]any{"path": l.program, "args": l.hook()},
		"when": map[string]any{"always": true}, "stages": []string{"createRuntime"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(hooks, "plimsoll.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	rootfs := filepath.Join(l.dir, "rootfs")
	if err := os.MkdirAll(rootfs, 0o755); err != nil {
		t.Fatal(err)
	}
	writeProgram(t, filepath.Join(rootfs, "sleeper"), string(dockertest.Sleeper(t)))
	podman := func(args ...string) (string, error) {
		cmd := exec.Command(d.Command[0], append(append(append([]string{}, d.Command[1:]...), "--hooks-dir", hooks), args...)...)
		cmd.Env = d.Env
		f, err := os.CreateTemp(l.dir, "out")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cmd.Stdout, cmd.Stderr = f, f
		err = cmd.Run()
		b, _ := os.ReadFile(f.Name())
		return strings.TrimSpace(string(b)), err
	}
	tarball := filepath.Join(l.dir, "sleeper.tar")
	if out, err := exec.Command("tar", "-C", rootfs, "-cf", tarball, "sleeper").CombinedOutput(); err != nil {
		t.Fatalf("tar: %v: %s", err, out)
	}
	if out, err := podman("import", tarball, "sleeper:1"); err != nil {
		t.Fatalf("import: %v: %s", err, out)
	}
	for name, want := range map[string]string{"web-1": "3145728", "other": ""} {
		out, err := podman("run", "--detach", "--network", "host", "--name", name, "sleeper:1", "/sleeper")
		t.Cleanup(func() { _, _ = podman("rm", "--force", "--time", "0", name) })
		if err != nil {
			t.Fatalf("run: %v: %s", err, out)
		}
		pid, err := podman("inspect", "--format", "{{.State.Pid}}", name)
		if err != nil {
			t.Fatalf("inspect: %v: %s", err, pid)
		}
		b, err := os.ReadFile("/proc/" + pid + "/cgroup")
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(b), ":blkio:")
		group, _, _ := strings.Cut(after, "\n")
		if got := l.limited(t, group); got != want {
			t.Errorf("%s in %s has %q, want %q", name, group, got, want)
		}
	}
}

// TestHookDocker: plimsoll is Docker's runtime, and knows of a container what Docker knows.
func TestHookDocker(t *testing.T) {
	t.Parallel() // It waits most of the time, and its engine is its own.
	l := newHookLab(t, "rules:\n- name: web\n  match: {engine: docker, name: \"web-*\", image: plimsoll-sleeper, label: {tier: gold}, volume: own}\n  where: {device: DISK}\n  limits: {write_bps: 3MiB}\n")
	config, err := json.Marshal(map[string]any{"runtimes": map[string]any{"held": map[string]any{"path": l.program, "runtimeArgs": append(l.hook()[1:], "--runtime", "runc", "--")}}})
	if err != nil {
		t.Fatal(err)
	}
	d := dockertest.StartWith(t, string(config))
	api, err := client.New(client.WithHost(d.Host))
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	dockertest.ImportSleeper(t, api)
	for name, want := range map[string]string{"web-1": "3145728", "other": ""} {
		res, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
			Name:   name,
			Config: &container.Config{Image: dockertest.SleeperImage, Cmd: []string{"/sleeper"}, Labels: map[string]string{"tier": "gold"}},
			HostConfig: &container.HostConfig{
				Runtime: "held", NetworkMode: "host", Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: "own", Target: "/data"}},
				Resources: container.Resources{CgroupParent: d.CgroupParent},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_, _ = api.ContainerRemove(context.Background(), res.ID, client.ContainerRemoveOptions{Force: true})
		})
		if _, err := api.ContainerStart(t.Context(), res.ID, client.ContainerStartOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := l.limited(t, d.CgroupParent+"/"+res.ID); got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
	// Docker reports a limit that can't be kept.
	l.put(t, "rules:\n- {name: gone, match: all, where: {device: /dev/plimsoll-none}, limits: {write_bps: 3MiB}}\n")
	res, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Config:     &container.Config{Image: dockertest.SleeperImage, Cmd: []string{"/sleeper"}},
		HostConfig: &container.HostConfig{Runtime: "held", NetworkMode: "host", Resources: container.Resources{CgroupParent: d.CgroupParent}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = api.ContainerRemove(context.Background(), res.ID, client.ContainerRemoveOptions{Force: true})
	})
	if _, err := api.ContainerStart(t.Context(), res.ID, client.ContainerStartOptions{}); err == nil || !strings.Contains(err.Error(), "rule gone can't be kept") {
		t.Errorf("start with a policy that can't be kept: %v", err)
	}
}

// TestHookState: what is no state of a runtime's is refused.
func TestHookState(t *testing.T) {
	for in, want := range map[string]string{
		"":                                       "has no OCI state",
		"{":                                      "has no OCI state",
		"{}":                                     "is this called as a hook?",
		`{"id":"x","bundle":"/nowhere"}`:         "createRuntime or prestart",
		`{"id":"x","bundle":"/nowhere","pid":1}`: "/nowhere/config.json",
	} {
		run := filepath.Join(t.TempDir(), "run")
		r := plimsoll(t, context.Background(), t.TempDir(), in, "limit", "hook", "--run", run)
		if r.status != exitFailure || !strings.Contains(r.stderr, want) {
			t.Errorf("hook < %q: status %d, %s, want %q", in, r.status, r.stderr, want)
		}
		if r := plimsoll(t, context.Background(), t.TempDir(), in, "limit", "hook", "--run", run, "--best-effort"); r.status != exitDone || !strings.Contains(r.stderr, want) {
			t.Errorf("hook --best-effort < %q: status %d, %s", in, r.status, r.stderr)
		}
	}
}
