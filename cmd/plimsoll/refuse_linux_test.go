package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/testkit/golden"
)

// TestRunRefuses: what would lose data or can't be meant is refused before anything is
// made, with a status of 2 and the reason.
func TestRunRefuses(t *testing.T) {
	needRun(t)
	file := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(file, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := func(place string) string {
		return "name: p\nworkloads: {w: {rw: randwrite, bs: 4KiB, size: 1MiB, runtime: 10ms}}\nengines: [host, oci]\nplaces: {" + place + "}\nblocks: 1\n"
	}
	profile := func(path string) string {
		return "name: p\nworkloads: {a: {kind: append}}\nengines: [host, {name: c, kind: oci, seccomp: " + path + "}]\nplaces: {layer: {}, dir: {}}\n"
	}
	var said transcript
	for _, c := range []struct {
		stdin string
		args  []string
	}{
		{"", []string{"run", "nonsense"}},
		{"name: [", []string{"run", "-"}},
		{"name: x\nworklods: {}\n", []string{"run", "-"}},
		{"", []string{"run", "a", "b"}},
		{"", []string{"run", "--blocs", "3"}},
		{plan("dir: {path: /nowhere/at/all}"), []string{"run", "-"}},
		{plan("dir: {path: " + file + "}"), []string{"run", "-"}},
		{plan("dir: {path: " + file + "}"), []string{"run", "-", "--destructive", "/dev/null"}},
		{plan("bind: {path: " + file + "}"), []string{"run", "-"}},
		{profile("/nowhere/at/all"), []string{"run", "-"}},
		{profile(file), []string{"run", "-"}},
		{profile("/etc"), []string{"run", "-"}},
		{"name: p\nworkloads: {a: {kind: append, count: 5}}\nengines:\n- host\n- {name: oci, image: /nowhere/at/all}\nplaces: {dir: {}, layer: {}}\n", []string{"run", "-"}},
		{plan("dir: {}"), []string{"run", "-", "--destructive", file}},
		{"", []string{"run", "--resume"}},
		{"", []string{"run", "--resume", "2020"}},
	} {
		dir := t.TempDir()
		r := plimsoll(t, t.Context(), dir, c.stdin, c.args...)
		if r.status != exitUsage {
			t.Errorf("%q with %q: status %d, want %d", c.args, c.stdin, r.status, exitUsage)
		}
		r.stderr = strings.ReplaceAll(r.stderr, dir, "STATE")
		line := c.args
		if c.stdin != "" {
			line = slices.Concat(line, []string{"<<<", c.stdin})
		}
		said.add(line, r)
	}
	said.check(t, "run-refuses.txt", golden.Text(file, "FILE"))
	if b, err := os.ReadFile(file); err != nil || string(b) != "data" {
		t.Errorf("the file was touched: %q, %v", b, err)
	}
}

// TestRunDestructive: with its path repeated a file is measured itself.
func TestRunDestructive(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(file, bytes.Repeat([]byte("x"), 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := "name: p\nworkloads: {w: {rw: randwrite, bs: 4KiB, size: 1MiB, runtime: 10ms}, a: {kind: append, count: 5}}\nengines: [host]\nplaces: {dir: {path: " + file + "}}\nblocks: 1\n"
	r := plimsoll(t, t.Context(), dir, plan, "run", "-", "--destructive", file)
	if r.status != exitDone {
		t.Fatalf("status %d, stderr:\n%s", r.status, r.stderr)
	}
	run, trials := records(t, dir)
	for _, tr := range trials {
		if tr.Cell.Workload != "w" || tr.Spec.Job.Filename != file {
			t.Errorf("trial %s on %q", tr.Key, tr.Spec.Job.Filename)
		}
	}
	if len(run.Skipped) == 0 || !strings.Contains(run.Skipped[0].Reason, "folder") {
		t.Errorf("skipped = %v, want append, which needs a folder", run.Skipped)
	}
	if b, _ := os.ReadFile(file); len(b) != 1<<20 || bytes.Equal(b, bytes.Repeat([]byte("x"), 1<<20)) {
		t.Errorf("the file was not written over, or has another length: %d bytes", len(b))
	}
}
