package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/wire"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// TestAgentStopLeavesOrder: a trial that is stopped leaves its files so that the next one can use them: what it wrote
// is marked as Plimsoll's, and what was half made is gone.
func TestAgentStopLeavesOrder(t *testing.T) {
	dir := t.TempDir()
	p := serve(t, realWorker(t), dir)
	grow := workload.Spec{Name: "dd", Kind: workload.Stage, Jobs: []workload.StageJob{{
		Name: "write", Truncate: true, Size: 1 << 40, Job: load.Job{RW: load.Write, BS: 4096, Filename: "out", Size: 1 << 40, IOEngine: load.PSync, Sync: "dsync"},
	}}}
	for _, id := range []string{"1", "2"} { // The second writes over what the first left.
		p.run(id, grow)
		p.wantReady(id)
		p.send(wire.Message{Start: &wire.Start{ID: id}})
		for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			if st, err := os.Stat(filepath.Join(dir, "out")); err == nil && st.Size() > 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatal("nothing is written")
			}
		}
		p.send(wire.Message{Stop: &wire.Stop{ID: id}})
		if e := p.wantError(id, wire.PhaseRun, ""); e.Signal != "" || e.Done == nil || e.Done.Ops == 0 {
			t.Errorf("stopped with %+v, want an end of its own with how far it got", e)
		}
	}

	made := workload.Spec{Name: "fio", Kind: workload.Stage, Jobs: []workload.StageJob{{
		Name: "a", Size: 1 << 30, Job: load.Job{RW: load.RandWrite, BS: 4096, Filename: "made", Size: 1 << 20, IOEngine: load.PSync},
	}}}
	p.run("3", made)
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("nothing is laid out")
		}
	}
	p.send(wire.Message{Stop: &wire.Stop{ID: "3"}})
	p.wantError("3", wire.PhasePrepare, "")
	if st, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Errorf("a file of %d bytes was left half made", st.Size())
	}
	wantNoTrial(t, dir)
}

// TestAgentStopStuck: a trial that can't be stopped reports its last operation before it is killed. Here it appends to a pipe without
// a reader, which has taken its file's place.
func TestAgentStopStuck(t *testing.T) {
	dir := t.TempDir()
	p := serve(t, realWorker(t), dir)
	p.run("1", workload.Spec{Name: "append", Kind: workload.Append, Count: workload.MaxCount})
	p.wantReady("1")
	p.send(wire.Message{Start: &wire.Start{ID: "1"}})
	file, pipe := filepath.Join(dir, "append.log"), filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("nothing is appended")
		}
	}
	if err := os.Rename(pipe, file); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // So that it is in open, and not at its next look at the end.
	p.send(wire.Message{Stop: &wire.Stop{ID: "1"}})
	if e := p.wantError("1", wire.PhaseRun, ""); e.Signal == "" || !strings.Contains(e.Log, "still at work: goroutine 1 [syscall") || !strings.Contains(e.Log, "workload.appendOnce < ") {
		t.Errorf("stopped with %+v, want it killed, and where it was in its log", e)
	}
	wantNoTrial(t, dir)
}
