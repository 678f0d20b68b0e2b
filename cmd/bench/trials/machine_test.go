package trials

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"plimsoll/internal/testkit/workertest"
)

// TestMachinesMissing: what machines can't have here is told, a line for each way in, and there are no figures of it. The real ones take a
// minute, and make bench starts them.
func TestMachinesMissing(t *testing.T) {
	var out bytes.Buffer
	o := options{machines: 2, kernel: filepath.Join(t.TempDir(), "none"), worker: workertest.Source(t)}
	if err := startMachines(t.Context(), &out, o, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 1+len(shares) {
		t.Fatalf("%d lines, want a head and %d:\n%s", len(lines), len(shares), out.String())
	}
	for _, line := range lines[1:] {
		if !strings.Contains(line, "skipped: ") {
			t.Errorf("%q has no reason", line)
		}
	}
}

// TestTimePlans: the quick forms of both plans are run, with the kernel for each of their engines of machines, and their sum has the goal.
func TestTimePlans(t *testing.T) {
	program := filepath.Join(t.TempDir(), "plimsoll")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$*\" >>\"$0.args\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	state := t.TempDir()
	if err := timePlans(t.Context(), &out, options{quick: program, kernel: "/k"}, state); err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, name := range e1Plans {
		want += "run " + name + " --quick --set engines.vm.kernel=/k --set engines.virtiofs.kernel=/k --state " + filepath.Join(state, name) + " --out " + state + "\n"
	}
	if b, err := os.ReadFile(program + ".args"); err != nil || string(b) != want {
		t.Errorf("it was called with %q, %v, want %q", b, err, want)
	}
	if !regexp.MustCompile(`\nraw-write and site-build --quick: \d+\.\d\d s, target <= 360 s, met\n$`).Match(out.Bytes()) {
		t.Errorf("%q has no sum", out.String())
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := timePlans(t.Context(), &out, options{quick: program}, state); err == nil {
		t.Error("a plan that fails has a time")
	}
}
