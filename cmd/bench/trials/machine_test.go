package trials

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/testkit/workertest"
)

// TestMachinesMissing: if machines can't be had here, each way in has a line that says so, and no figures. Real machines take a
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
	state := t.TempDir()
	all, err := timePlans(t.Context(), options{quick: program, kernel: "/k"}, state)
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	want := ""
	for _, name := range isolationPlans {
		want += "run " + name + " --quick --set engines.vm.kernel=/k --set engines.virtiofs.kernel=/k --state " + filepath.Join(state, name) + " --out " + state + "\n"
	}
	if b, err := os.ReadFile(program + ".args"); err != nil || string(b) != want {
		t.Errorf("it was called with %q, %v, want %q", b, err, want)
	}
	if sum := all[2]; sum.Name != "raw-write and site-build --quick" || sum.Ours[0] != all[0].Ours[0]+all[1].Ours[0] || sum.Goal.Value != float64(mostPlans) {
		t.Errorf("the sum is %+v", sum)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if all, err := timeWholes(t.Context(), options{full: "true", quick: program}, state); err == nil || len(all) > 0 {
		t.Errorf("a run that fails has a time: %+v", all)
	}
}
