package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	for _, c := range []struct {
		name, stdin string
		args        []string
		want        string
	}{
		{"no such plan", "", []string{"run", "nonsense"}, "no built-in plan"},
		{"unreadable plan", "name: [", []string{"run", "-"}, "standard input:"},
		{"unknown key", "name: x\nworklods: {}\n", []string{"run", "-"}, "2:1"},
		{"two plans", "", []string{"run", "a", "b"}, "one plan"},
		{"unknown flag", "", []string{"run", "--blocs", "3"}, "--blocs"},
		{"a missing folder", plan("dir: {path: /nowhere/at/all}"), []string{"run", "-"}, "does not exist"},
		{"a file with data", plan("dir: {path: " + file + "}"), []string{"run", "-"}, "--destructive " + file},
		{"another path repeated", plan("dir: {path: " + file + "}"), []string{"run", "-", "--destructive", "/dev/null"}, "--destructive " + file},
		{"a file as a bind", plan("bind: {path: " + file + "}"), []string{"run", "-"}, "not a folder"},
		{"a missing profile", profile("/nowhere/at/all"), []string{"run", "-"}, "standard input:3:38: engines.1.seccomp: seccomp profile: stat /nowhere/at/all: no such file"},
		{"a profile of another kind", profile(file), []string{"run", "-"}, "standard input:3:38: engines.1.seccomp: seccomp profile " + file + ": invalid character"},
		{"a profile that is a folder", profile("/etc"), []string{"run", "-"}, "/etc is not a regular file"},
		{"an image that is not a folder", "name: p\nworkloads: {a: {kind: append, count: 5}}\nengines:\n- host\n- {name: oci, image: /nowhere/at/all}\nplaces: {dir: {}, layer: {}}\n", []string{"run", "-"}, "image /nowhere/at/all: it is not a folder"},
		{"destructive for nothing", plan("dir: {}"), []string{"run", "-", "--destructive", file}, "no place"},
		{"nothing to resume", "", []string{"run", "--resume"}, "nothing to resume"},
		{"an unknown run", "", []string{"run", "--resume", "2020"}, "2020"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := plimsoll(t, t.Context(), t.TempDir(), c.stdin, c.args...)
			if r.status != exitUsage || !strings.Contains(r.stderr, c.want) {
				t.Errorf("status %d, stderr %q; want status %d and %q", r.status, r.stderr, exitUsage, c.want)
			}
		})
	}
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
