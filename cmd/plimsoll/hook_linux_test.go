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
	"testing"

	"plimsoll/internal/disktest"
	"plimsoll/internal/dockertest"
	"plimsoll/internal/leaktest"
)

// A hookLab is a built plimsoll with a policy for one disk.
type hookLab struct {
	dir, program, policy, run string
	// number is the disk's.
	number string
}

func newHookLab(t *testing.T, rules string) *hookLab {
	t.Helper()
	needRun(t)
	if _, err := os.Stat("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"); err != nil {
		t.Skip("needs the blkio controller of version 1")
	}
	dir := t.TempDir()
	l := &hookLab{dir: dir, program: filepath.Join(dir, "plimsoll"), policy: filepath.Join(dir, "policy.yaml"), run: filepath.Join(dir, "run")}
	build := exec.Command("go", "build", "-o", l.program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v: %s", err, out)
	}
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

// TestHookRunc: a container of runc, whose bundle the wrapper gives the hook, is held when it was created and has not
// begun, and doesn't come about if the policy can't be kept.
func TestHookRunc(t *testing.T) {
	if _, err := exec.LookPath("runc"); err != nil {
		t.Skip("needs runc: apt-get install runc")
	}
	l := newHookLab(t, hookRules)
	id := fmt.Sprintf("plimsoll-hook-%d", os.Getpid())
	leaktest.Check(t, id)
	bundle, root := filepath.Join(l.dir, "bundle"), filepath.Join(l.dir, "runc")
	if err := os.MkdirAll(filepath.Join(bundle, "rootfs", "proc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bundle, "rootfs", "sleeper"), dockertest.Sleeper(t), 0o755); err != nil {
		t.Fatal(err)
	}
	config := map[string]any{
		"ociVersion": "1.0.2", "process": map[string]any{"args": []string{"/sleeper"}, "cwd": "/"},
		"root": map[string]any{"path": "rootfs"}, "mounts": []any{map[string]any{"destination": "/proc", "type": "proc", "source": "proc"}},
		"linux":       map[string]any{"cgroupsPath": "/" + id, "namespaces": []any{map[string]any{"type": "pid"}, map[string]any{"type": "mount"}}},
		"annotations": map[string]any{"team": "blue"}, "unknownKey": 9007199254740993,
	}
	runc := func(args ...string) (string, error) {
		argv := append([]string{"limit", "hook", "--policy", l.policy, "--run", l.run, "--state", l.dir, "--runtime", "runc", "--", "--root", root}, args...)
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
	t.Cleanup(func() { _, _ = runc("delete", "--force", id) })
	if out, err := runc("create", "--bundle", bundle, id); err != nil {
		t.Fatalf("create: %v: %s", err, out)
	}
	if got := l.limited(t, id); got != "3145728" {
		t.Errorf("a container that was created and hasn't begun has %q", got)
	}
	b, err := os.ReadFile(filepath.Join(bundle, "config.json"))
	if err != nil || !bytes.Contains(b, []byte("9007199254740993")) || bytes.Count(b, []byte("limit")) != 1 {
		t.Errorf("config.json is %s, %v", b, err)
	}
	held, _ := filepath.Glob(filepath.Join(l.run, "held", "*.json"))
	if len(held) != 1 {
		t.Errorf("the daemon is not told: %q", held)
	}
	if out, err := runc("delete", "--force", id); err != nil {
		t.Fatalf("delete: %v: %s", err, out)
	}
	// By a label, which is an annotation.
	l.put(t, strings.Replace(strings.ReplaceAll(hookRules, "DISK", "/dev/plimsoll-none"), "match: all", "match: {label: {team: blue}, engine: oci}", 1))
	out, err := runc("create", "--bundle", bundle, id)
	if err == nil || !strings.Contains(out, "rule all can't be kept") || !strings.Contains(out, "/dev/plimsoll-none") {
		t.Errorf("a policy that can't be kept: %v: %s", err, out)
	}
	if _, err := os.Stat("/sys/fs/cgroup/blkio/" + id); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the container that was refused has a group: %v", err)
	}
	l.put(t, "rules: 5\n")
	if out, err := runc("create", "--bundle", bundle, id); err == nil || !strings.Contains(out, "rules wants a list") {
		t.Errorf("a bad policy: %v: %s", err, out)
	}
	if err := os.Remove(l.policy); err != nil {
		t.Fatal(err)
	}
	if out, err := runc("create", "--bundle", bundle, id); err != nil {
		t.Errorf("no policy: %v: %s", err, out)
	}
}

// TestHookPodman: Podman calls the hook from its folder of hooks.
func TestHookPodman(t *testing.T) {
	l := newHookLab(t, "rules:\n- {name: web, match: {engine: podman, name: \"web-*\", image: \"*sleeper*\"}, where: {device: DISK}, limits: {write_bps: 3MiB}}\n")
	d := dockertest.Podman(t, dockertest.PodmanOptions{})
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
	if err := os.WriteFile(filepath.Join(rootfs, "sleeper"), dockertest.Sleeper(t), 0o755); err != nil {
		t.Fatal(err)
	}
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
		out, err := podman("run", "--detach", "--network", "none", "--name", name, "sleeper:1", "/sleeper")
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

// TestHookState: what is no state of a runtime's is refused.
func TestHookState(t *testing.T) {
	for in, want := range map[string]string{
		"":                                       "no OCI state",
		"{":                                      "no OCI state",
		"{}":                                     "is this called as a hook?",
		`{"id":"x","bundle":"/nowhere"}`:         "createRuntime or prestart",
		`{"id":"x","bundle":"/nowhere","pid":1}`: "/nowhere/config.json",
	} {
		r := plimsoll(t, context.Background(), t.TempDir(), in, "limit", "hook")
		if r.status != exitFailure || !strings.Contains(r.stderr, want) {
			t.Errorf("hook < %q: status %d, %s, want %q", in, r.status, r.stderr, want)
		}
		if r := plimsoll(t, context.Background(), t.TempDir(), in, "limit", "hook", "--best-effort"); r.status != exitDone || !strings.Contains(r.stderr, want) {
			t.Errorf("hook --best-effort < %q: status %d, %s", in, r.status, r.stderr)
		}
	}
}
