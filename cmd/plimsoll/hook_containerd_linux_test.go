package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/testkit/dockertest"
)

// TestHookContainerd: plimsoll is the program that containerd's shim runs, in a script as the manual has it for BinaryName. A container
// is held before its program begins, and one whose policy can't be kept doesn't start.
func TestHookContainerd(t *testing.T) {
	t.Parallel() // It waits most of the time.
	const rules = "rules:\n- {name: web, match: {engine: containerd, name: \"web-*\"}, where: {device: DISK}, limits: {write_bps: 3MiB}}\n"
	l := newHookLab(t, rules)
	runc, err := exec.LookPath("runc")
	if err != nil {
		t.Skip("needs runc: apt-get install runc")
	}
	d := dockertest.SharedContainerd(t)
	script := filepath.Join(l.dir, "held.sh")
	line := fmt.Sprintf("#!/bin/sh\nexec %s %s --runtime %s -- \"$@\"\n", l.program, strings.Join(l.hook()[1:], " "), runc)
	writeProgram(t, script, line)
	root := filepath.Join(l.dir, "rootfs")
	for _, dir := range []string{"proc", "dev", "sys", "tmp"} {
		mustDo(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	writeProgram(t, filepath.Join(root, "sleeper"), string(dockertest.Sleeper(t)))
	ctr := func(words ...string) (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, d.Command[0], append(slices.Clone(d.Command[1:]), words...)...)
		cmd.Env = d.Env
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	run := func(id string) (string, error) {
		t.Helper()
		t.Cleanup(func() {
			_, _ = ctr("tasks", "rm", "-f", id)
			if out, err := ctr("containers", "rm", id); err != nil && !strings.Contains(out, "not found") {
				t.Errorf("ctr containers rm %s: %v: %s", id, err, out)
			}
		})
		return ctr("run", "--detach", "--null-io", "--runc-binary", script, "--rootfs", root, id, "/sleeper")
	}
	// ctr names the group so.
	group := func(id string) string { return "/" + d.Namespace() + "/" + id }
	for id, want := range map[string]string{"web-1": "3145728", "other": ""} {
		if out, err := run(id); err != nil {
			t.Fatalf("run %s: %v: %s", id, err, out)
		}
		if got := l.limited(t, group(id)); got != want {
			t.Errorf("%s has %q, want %q", id, got, want)
		}
	}
	held, _ := filepath.Glob(filepath.Join(l.run, "journal", "container-limits", "*.json"))
	if len(held) != 1 {
		t.Errorf("the daemon is not told: %q", held)
	}
	l.put(t, strings.ReplaceAll(rules, "DISK", "/dev/plimsoll-none"))
	out, err := run("web-2")
	log, logErr := os.ReadFile(filepath.Join(l.run, "hook.log"))
	if err == nil || logErr != nil {
		t.Errorf("a policy that can't be kept: %v, %v: %s", err, logErr, out)
	}
	for what, text := range map[string]string{"ctr says": out, "the log has": string(log)} {
		if !strings.Contains(text, "rule web can't be kept") || !strings.Contains(text, "/dev/plimsoll-none") {
			t.Errorf("%s %q", what, text)
		}
	}
	if out, _ := ctr("tasks", "list"); strings.Contains(out, "web-2") {
		t.Errorf("what was refused runs: %s", out)
	}
	if _, err := os.Stat("/sys/fs/cgroup/blkio" + group("web-2")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was refused has a group: %v", err)
	}
	// A container that no rule matches starts too.
	if out, err := run("other-2"); err != nil {
		t.Errorf("run other-2: %v: %s", err, out)
	}
}
