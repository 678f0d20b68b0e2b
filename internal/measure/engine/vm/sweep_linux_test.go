package vm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/host/procfs"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/testkit/journaltest"
)

// sleeper starts a process that is nobody's in particular, and kills it at the test's end.
func sleeper(t *testing.T) (procfs.Process, <-chan struct{}) {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	return procfs.Of("/proc", cmd.Process.Pid), ended
}

// TestVMSweep: the machines and daemons of a plimsoll that was killed are killed, and their folders go; what is another
// process with the same number, or a living plimsoll's, stays.
func TestVMSweep(t *testing.T) {
	state := t.TempDir()
	v := New(Options{State: state}).(*Engine)
	machine, machineEnded := sleeper(t)
	other, otherEnded := sleeper(t)
	living, livingEnded := sleeper(t)
	other.Start++ // Its number was another's before.
	for id, process := range map[string]procfs.Process{"dead": machine, "reused": other, "living": living} {
		dir := engine.OwnFolder(filepath.Join(state, "vm"), id)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		made := engine.SessionRecord{Paths: []string{dir}, Processes: []procfs.Process{process}}
		if id != "living" {
			journaltest.Dead(t, state, v.journal.Kind, id, made)
		} else if err := v.journal.Note(t.Context(), id, made); err != nil {
			t.Fatal(err)
		}
	}
	done, err := v.Sweep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-machineEnded:
	case <-time.After(time.Minute):
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
	if err := v.journal.Clear("living"); err != nil {
		t.Error(err)
	}
}
