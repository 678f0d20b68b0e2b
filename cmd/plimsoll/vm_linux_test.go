package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/measure/report"
)

// vmTests names the variable with which scripts/test-guest asks for the tests that boot machines: an emulated processor takes all
// that there is of a real one, and other tests beside it measure time.
const vmTests = "PLIMSOLL_TEST_VM"

// needVM skips a test that needs QEMU and the tests' kernel, and returns that kernel, which scripts/guest fetches.
func needVM(t *testing.T) (kernel string) {
	t.Helper()
	if os.Getenv(vmTests) == "" {
		t.Skip("virtual machines are booted by make test-guest")
	}
	needRun(t)
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		t.Skip("qemu is needed: scripts/setup guest")
	}
	cache, err := os.UserCacheDir()
	mustDo(t, err)
	kernel = filepath.Join(cache, "plimsoll/guest/vmlinux")
	if _, err := os.Stat(kernel); err != nil {
		t.Skip("the tests' kernel is needed: scripts/guest fetches it")
	}
	return kernel
}

// machineState is a state folder of all tests with machines: one that has booted for a test is saved there, and those of others go on from it.
func machineState(t *testing.T) string {
	t.Helper()
	if machineFolder == "" {
		var err error
		machineFolder, err = os.MkdirTemp("", "plimsoll-test-vm-")
		mustDo(t, err)
	}
	return machineFolder
}

var machineFolder string

// machines sets the engines of a plan to machines that share in these ways, each named for its own; an emulated processor is there everywhere.
func machines(kernel string, shares ...string) string {
	var list []string
	for _, s := range shares {
		list = append(list, fmt.Sprintf("{name: %q, kind: vm, accel: tcg, kernel: %q, share: %q}", s, kernel, s))
	}
	return "engines=[" + strings.Join(list, ", ") + "]"
}

// TestVMAppend: the plan raw-write tells a machine's own disk from its shares, by verdicts: the disk is faster than virtiofs, and virtiofs faster
// than 9p. What other work of this computer hides is no fault: it goes on with more blocks, and what is not proved even then has to lie on the right side, with
// in a campaign with the report's word that the computer was busy. The wrong order is a fault at once.
func TestVMAppend(t *testing.T) {
	kernel, dir := needVM(t), machineState(t)
	defer func() { checkClean(t, dir) }()
	args := []string{
		"run", "raw-write", "--json", "--only", "workload=append", "--set", machines(kernel, "9p", "virtiofs"), "--set", "places={layer: {}, bind: {}}",
		"--set", "baseline={engine: virtiofs, place: bind}", "--set", "exclude=[{engine: 9p, place: layer}]",
		"--set", "workloads.append.runtime=1500ms", "--blocks", "6",
	}
	want := map[string]report.Kind{"virtiofs layer": report.Faster, "9p bind": report.Slower}
	for _, more := range []string{"9", "12", "16", ""} {
		r := plimsoll(t, t.Context(), dir, "", args...)
		if r.status != exitDone {
			t.Fatalf("status %d\n%s", r.status, r.stderr)
		}
		var said struct{ Reports []report.Report }
		mustDo(t, json.Unmarshal([]byte(r.stdout), &said))
		if len(said.Reports) != 1 || len(said.Reports[0].Workloads) != 1 {
			t.Fatalf("the report is %.2000s", r.stdout)
		}
		open, seen, next := 0, 0, said.Reports[0].Next
		for _, c := range said.Reports[0].Workloads[0].Cells {
			expect, ok := want[c.Engine+" "+c.Place]
			if !ok || c.Compared == nil {
				continue
			}
			seen++
			t.Logf("%s %s: %s, %.2f x (%.2f to %.2f) in %d blocks", c.Engine, c.Place, c.Kind, c.Compared.Ratio, c.Compared.Low, c.Compared.High, c.Compared.N)
			switch c.Kind {
			case expect:
			case report.Inconclusive:
				open++
				if more == "" && (expect == report.Faster) != (c.Compared.Ratio > 1) {
					t.Errorf("%s %s looks wrong, and is not proved", c.Engine, c.Place)
				}
			default:
				t.Errorf("%s %s is %s, want %s", c.Engine, c.Place, c.Kind, expect)
			}
		}
		for _, c := range said.Reports[0].Concerns {
			t.Logf("%s %s: %s: %s", c.Check, c.Severity, c.Cell, c.Text)
		}
		switch {
		case seen != len(want):
			t.Fatalf("%d cells are compared, want %d", seen, len(want))
		case t.Failed() || open == 0:
			return
		case more == "" && os.Getenv("PLIMSOLL_CAMPAIGN") != "" && (next == nil || !next.Busy):
			t.Errorf("%d of %d verdicts are open after all blocks, on a computer with no other work", open, seen)
		}
		args = []string{"run", "--json", "--resume", "last", "--blocks", more}
	}
}
