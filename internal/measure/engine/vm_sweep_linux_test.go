package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sleeper starts a process that is nobody's in particular, and kills it at the test's end.
func sleeper(t *testing.T) (Owner, <-chan struct{}) {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	o := ownerOf(cmd.Process.Pid)
	o.Namespace = pidNamespace()
	return o, ended
}

// TestVMSweep: the machines and daemons of a plimsoll that was killed are killed, and their folders go; what is another
// process with the same number, or a living plimsoll's, stays.
func TestVMSweep(t *testing.T) {
	state := t.TempDir()
	v := NewVM(VMOptions{State: state}).(*vm)
	dead := Self()
	dead.Start = "1"
	machine, machineEnded := sleeper(t)
	other, otherEnded := sleeper(t)
	living, livingEnded := sleeper(t)
	other.Start += "0" // Its number was another's before.
	for _, s := range []struct {
		id      string
		owner   Owner
		process Owner
	}{{"dead", dead, machine}, {"reused", dead, other}, {"living", Self(), living}} {
		dir := ownFolder(filepath.Join(state, "vm"), s.id)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, l := range []leftover{
			{ID: s.id, Engine: "vm", Owner: s.owner, Paths: []string{dir}},
			{ID: s.id + processesSuffix, Engine: "vm", Owner: s.owner, Processes: []Owner{s.process}},
		} {
			if err := v.journal.note(l); err != nil {
				t.Fatal(err)
			}
		}
	}
	done, err := v.Sweep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-machineEnded:
	case <-time.After(10 * time.Second):
		t.Error("the dead owner's machine still runs")
	}
	if got := strings.Join(done, "\n"); strings.Count(got, "process ") != 1 || strings.Count(got, "folder ") != 2 || !strings.Contains(got, "of virtual machine dead") {
		t.Errorf("Sweep() = %q, want one process and two folders", done)
	}
	select {
	case <-otherEnded:
		t.Error("a process that only has a dead one's number was killed")
	case <-livingEnded:
		t.Error("a living plimsoll's machine was killed")
	case <-time.After(100 * time.Millisecond):
	}
	left, _ := os.ReadDir(filepath.Join(state, "vm"))
	if len(left) != 1 || left[0].Name() != "plimsoll-living" {
		t.Errorf("left are %v, want the living plimsoll's folder", left)
	}
	for _, id := range []string{"living", "living" + processesSuffix} {
		if err := v.journal.forget(id); err != nil {
			t.Error(err)
		}
	}
}
