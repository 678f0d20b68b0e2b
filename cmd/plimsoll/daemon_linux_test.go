package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/daemon"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/testkit/dockertest"
	"plimsoll/internal/testkit/golden"
	"plimsoll/internal/testkit/texttest"
	"plimsoll/internal/text/clean"
)

// A daemonRun is plimsoll daemon as a process of its own.
type daemonRun struct {
	t    *testing.T
	cmd  *exec.Cmd
	log  string
	gone chan error
}

// startDaemon starts it.
func startDaemon(t *testing.T, args ...string) *daemonRun {
	t.Helper()
	d := &daemonRun{t: t, log: filepath.Join(t.TempDir(), "log"), gone: make(chan error, 1)}
	f, err := os.Create(d.log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d.cmd = exec.Command(os.Args[0], append([]string{"daemon"}, args...)...)
	d.cmd.Env = append(os.Environ(), forChild(t)...)
	d.cmd.Stdout, d.cmd.Stderr = f, f
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { d.gone <- d.cmd.Wait() }()
	t.Cleanup(func() { d.end(syscall.SIGKILL) })
	return d
}

// end ends it by a signal, and returns its exit status.
func (d *daemonRun) end(s syscall.Signal) int {
	d.t.Helper()
	if d.cmd.ProcessState == nil {
		_ = d.cmd.Process.Signal(s)
		select {
		case err := <-d.gone:
			d.gone <- err
		case <-time.After(time.Minute):
			d.t.Errorf("the daemon doesn't end at %v", s)
			_ = d.cmd.Process.Kill()
		}
	}
	return d.cmd.ProcessState.ExitCode()
}

// says waits until the log has words.
func (d *daemonRun) says(words string) {
	d.t.Helper()
	var b []byte
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if b, _ = os.ReadFile(d.log); bytes.Contains(b, []byte(words)) {
			return
		}
	}
	d.t.Fatalf("the daemon doesn't say %q:\n%s", words, b)
}

// TestDaemon: a policy is checked, held, shown, read again on a hangup, and known after a kill.
func TestDaemon(t *testing.T) {
	needRun(t)
	if _, err := os.Stat("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device"); err != nil {
		t.Skip("needs the blkio controller of version 1")
	}
	docker := dockertest.SharedDocker(t)
	api := findsDocker(t, docker)
	waiting(t, api, docker, "web", "data")
	dir := t.TempDir()
	policy, run := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "run")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(policy, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	do := func(status int, words []string, args ...string) result {
		t.Helper()
		r := plimsoll(t, t.Context(), dir, "", append([]string{"daemon", "--policy", policy, "--run", run}, args...)...)
		texttest.Has(t, r.stdout+r.stderr, words, args)
		if r.status != status {
			t.Errorf("%v: status %d, want %d:\n%s%s", args, r.status, status, r.stdout, r.stderr)
		}
		return r
	}
	do(exitUsage, []string{"there is no policy"}, "--check")
	do(exitUsage, []string{"there is no policy"})
	if r := do(exitFailure, []string{"no daemon runs"}, "--status"); strings.Contains(r.stderr, "file does not exist") {
		t.Errorf("--status without a daemon: %s", r.stderr)
	}
	put("rules:\n- {name: web, match: {nme: web}, limits: {write_bps: 1MiB}}\n")
	do(exitUsage, []string{"policy.yaml:2:23: a match has no key \"nme\", did you mean name?"}, "--check")
	do(exitUsage, []string{"did you mean name?"})

	text := "rules:\n- {name: everything, match: all, limits: {read_bps: 100MiB}}\n- {name: web, match: {name: web}, where: {volume: data}, limits: {write_bps: 8MiB, read_bps: 50MiB}}\n- {name: unused, match: {name: nobody}, limits: {cpus: 1}}\n- {name: late, match: {name: web}, limits: {latency: 5ms}}\n"
	put(text)
	do(exitDone, []string{"4 rules, ", "write_bps", "8MiB", "web", "rule unused matches no running container", "can't be kept"}, "--check")
	var looked struct {
		Containers []keeper.Seen
		Unmatched  []string `json:"unmatched_rules"`
	}
	r := do(exitDone, nil, "--dry-run", "--json")
	if err := json.Unmarshal([]byte(r.stdout), &looked); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, c := range looked.Containers {
		for _, g := range c.Grants {
			if c.Target == "docker:web" && g.Key == "read_bps" && g.Rule == "web" && g.Value == "50MiB" && g.Now == "none" && !g.Same {
				found = true
			}
		}
	}
	if !found || len(looked.Unmatched) != 1 {
		t.Errorf("--dry-run --json: %s", r.stdout)
	}

	// Others' containers on this machine are no concern of the test's.
	put(strings.Replace(text, "match: all", "match: {name: web}", 1))
	args := []string{"--policy", policy, "--run", run, "--state", dir}
	d := startDaemon(t, args...)
	d.says("docker:web: held to")
	d.says("rule late can't be kept: latency")
	status := func() daemon.Status {
		t.Helper()
		var s daemon.Status
		if err := json.Unmarshal([]byte(do(exitDone, nil, "--status", "--json").stdout), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	do(exitDone, []string{"4 rules", "write_bps", "8MiB", "can't be kept", "Docker at " + docker.Host + ": connected", "1 container with a rule", "in the last ", "1 idle"}, "--status")
	do(exitFailure, []string{"another daemon runs here", "--status"})
	s := status()
	if s.PID != d.cmd.Process.Pid {
		t.Errorf("PID %d, want %d", s.PID, d.cmd.Process.Pid)
	}
	if len(s.Containers) != 1 {
		t.Fatalf("containers %+v, want one", s.Containers)
	}
	if c := s.Containers[0]; len(c.Faults) != 1 || len(c.Held) < 2 {
		t.Errorf("faults %+v, held %+v; want one, and at least 2", c.Faults, c.Held)
	}
	u := status().Usage
	if u == nil || u.Seconds < 1 {
		t.Fatalf("usage %+v, want one of a second or more", u)
	}
	if len(u.Subjects) != 1 || u.Subjects[0].Ref != "docker:web" || len(u.Subjects[0].Rates) < 2 {
		t.Errorf("subjects %+v, want docker:web with at least 2 rates", u.Subjects)
	}
	// After a kill it knows its limits again, and removes those whose rule has gone meanwhile.
	d.end(syscall.SIGKILL)
	do(exitFailure, []string{"no daemon runs"}, "--status")
	show := func(words ...string) {
		t.Helper()
		r := plimsoll(t, t.Context(), dir, "", "limit", "show", "web")
		texttest.Has(t, r.stdout, words, r.stderr)
	}
	show("write_bps=8MiB")
	if r := plimsoll(t, t.Context(), dir, "", "limit", "show", "--run", run); !strings.Contains(strings.Join(strings.Fields(r.stdout), " "), "write_bps=8MiB plimsoll daemon, which has ended, rule web") {
		t.Errorf("limit show without the daemon, want its rule:\n%s%s", r.stdout, r.stderr)
	}
	put("rules:\n- {name: small, match: {name: web}, limits: {memory: 64MiB}}\n")
	d = startDaemon(t, args...)
	d.says("docker:web: held to memory=64MiB (small)")
	if r := plimsoll(t, t.Context(), dir, "", "limit", "show", "web"); strings.Contains(r.stdout, "bps") || !strings.Contains(r.stdout, "memory=64MiB") {
		t.Errorf("after a kill and without the rules:\n%s", r.stdout)
	}
	// A hangup reads the policy, and doesn't end it.
	put("rules:\n- {name: more, match: {name: web}, limits: {memory: 128MiB}}\n")
	if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	d.says("docker:web: held to memory=128MiB (more)")
	if got := d.end(syscall.SIGTERM); got != exitDone {
		t.Errorf("SIGTERM: status %d", got)
	}
	d.says("the limits stay")
	show("memory=128MiB")
	d = startDaemon(t, append(args, "--clear-on-stop")...)
	d.says("of " + policy)
	for end := time.Now().Add(time.Minute); len(status().Containers) == 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
	}
	if got := d.end(syscall.SIGINT); got != exitDone {
		t.Errorf("SIGINT: status %d", got)
	}
	d.says("its limits are removed")
	show("no limits")
}

// TestImportBlockIO: classes become a policy that --check takes.
func TestImportBlockIO(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "blockio.yaml")
	if err := os.WriteFile(file, []byte("Classes:\n  slow:\n  - Devices: [/dev/sda]\n    ThrottleWriteBps: 10M\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var said transcript
	for _, from := range append([]string{file}, unreadable(t, dir)...) {
		args := []string{"daemon", "--import-blockio", from}
		said.add(args, plimsoll(t, t.Context(), dir, "", args...))
	}
	said.check(t, "daemon-import.txt", golden.Text(dir, "DIR"))
}

// unreadable makes files that no policy can be.
func unreadable(t *testing.T, dir string) []string {
	t.Helper()
	pipe, large := filepath.Join(dir, "pipe"), filepath.Join(dir, "large")
	mustDo(t, syscall.Mkfifo(pipe, 0o600))
	mustDo(t, os.WriteFile(large, bytes.Repeat([]byte("# "), 3<<20), 0o600))
	return []string{filepath.Join(dir, "none"), dir, pipe, "/dev/zero", large}
}

// TestDaemonRefuses: looks that would never end, times without a unit, folders that can't be, and files that are no policy, which are
// neither waited for nor read. None leaves a folder; the ones without a policy did.
func TestDaemonRefuses(t *testing.T) {
	dir := t.TempDir()
	policy := filepath.Join(dir, "policy.yaml")
	mustDo(t, os.WriteFile(policy, []byte("rules: []\n"), 0o600))
	lines := [][]string{{"--check-every", "1ns"}, {"--check-every", "999ms"}, {"--sync-every", "1ms"}, {"--check-every", "-1s"}, {"--check-every", "0s"}, {"--check-every", "1"},
		{"--json"}, {"--check", "--status"}, {"--run", "/proc/none/run"}}
	for _, file := range unreadable(t, dir) {
		lines = append(lines, []string{"--policy", file, "--check"}, []string{"--policy", file})
	}
	var said transcript
	for _, flags := range lines {
		// One that is taken ends at once, as its time is over.
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := plimsoll(t, ctx, dir, "", append([]string{"daemon", "--policy", policy, "--run", filepath.Join(dir, "run")}, flags...)...)
		if r.status != exitUsage {
			t.Errorf("%q: status %d, want %d", flags, r.status, exitUsage)
		}
		said.add(append([]string{"daemon"}, flags...), r)
	}
	if _, err := os.Lstat(filepath.Join(dir, "run")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("daemons that have refused to start have made their folder: %v", err)
	}
	said.check(t, "daemon-refuses.txt", golden.Text(dir, "DIR"))
}

// TestManualDaemon executes every example of the daemon in the manual and the help in a shell, while one runs.
func TestManualDaemon(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	policy, run, bin := filepath.Join(dir, "mine.yaml"), filepath.Join(dir, "run"), filepath.Join(dir, "bin")
	// The manual's policy would hold others' containers.
	mustDo(t, os.WriteFile(policy, []byte("rules:\n- {name: nobody, match: {name: plimsoll-nobody}, limits: {cpus: 1}}\n"), 0o644))
	mustDo(t, os.WriteFile(filepath.Join(dir, "blockio.yaml"), []byte("Classes:\n  slow:\n  - Weight: 50\n"), 0o644))
	mustDo(t, os.Mkdir(bin, 0o755))
	self, err := filepath.Abs(os.Args[0])
	mustDo(t, err)
	script := fmt.Sprintf("#!/bin/sh\n%s=1 exec %s \"$@\" --policy %s --run %s\n", asPlimsoll, clean.Shell(self), clean.Shell(policy), clean.Shell(run))
	mustDo(t, os.WriteFile(filepath.Join(bin, "plimsoll"), []byte(script), 0o755))
	var lines []string
	for _, line := range examples(t) {
		if daemonLine.MatchString(line) {
			lines = append(lines, line)
		}
	}
	i := slices.Index(lines, "plimsoll daemon")
	if i < 0 || len(lines) < 4 {
		t.Fatalf("the daemon's examples are %q", lines)
	}
	d := startDaemon(t, "--policy", policy, "--run", run)
	d.says("1 rule of " + policy)
	for _, line := range slices.Delete(lines, i, i+1) {
		t.Run(line, func(t *testing.T) {
			words := strings.Fields(line)
			sh := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(line, "/etc/containers/", dir+"/"))
			sh.Dir = t.TempDir()
			sh.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
			out, err := sh.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if st, err := os.Stat(filepath.Join(sh.Dir, words[len(words)-1])); len(out) == 0 && (err != nil || st.Size() == 0) {
				t.Errorf("nothing was said, and nothing written: %v", err)
			}
		})
	}
}
