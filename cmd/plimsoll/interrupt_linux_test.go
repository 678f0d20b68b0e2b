package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/leaktest"
	"plimsoll/internal/testkit/texttest"
)

// TestRunInterrupted: an interrupt keeps what was measured, and --resume goes on
// to the same trials that an unbroken run has.
func TestRunInterrupted(t *testing.T) {
	t.Parallel()
	needRun(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		// As soon as something was measured.
		for ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
			if n := countTrials(dir); n >= 3 {
				cancel()
			}
		}
	}()
	r := plimsoll(t, ctx, dir, small, "run", "-", "--blocks", "20")
	r.wantError(t, exitFailure, "--resume")
	run, before := records(t, dir)
	if run.Status != record.Interrupted || len(before) < 3 {
		t.Fatalf("run %s with %d trials", run.Status, len(before))
	}
	if last := lastLine(r.stderr); !strings.Contains(last, "plimsoll run --resume "+run.ID+" --state "+dir) {
		t.Errorf("the last line is %q, want how to go on", last)
	}
	if n := strings.Count(r.stdout, "\n"); n > 25 || !strings.Contains(r.stdout, "measured, ") {
		t.Errorf("%d lines after an interrupt, want few, with what was measured:\n%s", n, r.stdout)
	}
	checkClean(t, dir)

	for _, flags := range [][]string{{"--blocks", "3"}, {"--quick"}, {"--only", "engine=host"}} {
		if r := plimsoll(t, t.Context(), dir, "", append([]string{"run", "--resume"}, flags...)...); r.status != exitUsage {
			t.Errorf("--resume with %v: status %d, want %d", flags, r.status, exitUsage)
		}
	}
	// A slip of the hand: the plan instead of the run.
	plimsoll(t, t.Context(), dir, "", "run", "--resume", "places").wantError(t, exitUsage, "places is a plan, and --resume takes a run", run.ID)
	r = plimsoll(t, t.Context(), dir, "", "run", "--resume")
	if r.status != exitDone {
		t.Fatalf("resume: status %d, stderr:\n%s", r.status, r.stderr)
	}
	first, _, _ := strings.Cut(r.stderr, "\n")
	if want := fmt.Sprintf("%d of 200 trials left", 200-len(before)); !strings.Contains(r.stderr, want) || !strings.Contains(first, " left") {
		t.Errorf("the resumed run announces more than is left, want %q:\n%s", want, r.stderr)
	}
	run, after := records(t, dir)
	if want := 20 * 10; run.Status != record.Done || len(after) != want {
		t.Errorf("run %s with %d trials, want %d", run.Status, len(after), want)
	}
	seen := map[string]bool{}
	for i, tr := range after {
		k := fmt.Sprint(tr.Key, tr.Block)
		if seen[k] {
			t.Errorf("%s was run twice in block %d", tr.Key, tr.Block)
		}
		seen[k] = true
		if tr.Order != i {
			t.Errorf("trial %d has order %d", i, tr.Order)
		}
	}
	if r := plimsoll(t, t.Context(), dir, "", "run", "--resume"); r.status != exitUsage {
		t.Errorf("a second resume: status %d, want %d", r.status, exitUsage)
	}
}

// TestRunInterruptedAtOnce: a run that was broken off before its first trial is no run.
func TestRunInterruptedAtOnce(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := plimsoll(t, ctx, dir, small, "run", "-")
	if last := lastLine(r.stderr); r.status != exitFailure || !strings.Contains(last, "nothing is recorded") {
		t.Errorf("status %d, last line %q, want that nothing is recorded", r.status, last)
	}
	plimsoll(t, t.Context(), dir, "", "run", "--resume").wantError(t, exitUsage, "nothing to resume")
	leaktest.Check(t, dir)
}

// TestRunKilled: kill -9 leaves no process and no mount; the next run removes the
// folders and goes on.
func TestRunKilled(t *testing.T) {
	needRun(t)
	t.Parallel() // Its state is its own.
	dir := t.TempDir()
	cmd := startPlimsoll(t, dir, "run", "-", "--blocks", "50")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	_, before := records(t, dir)
	// The workers end by themselves, at the end of their input.
	deadline := time.Now().Add(time.Minute)
	for len(processesWith(dir)) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("processes left: %v", processesWith(dir))
		}
		time.Sleep(20 * time.Millisecond)
	}
	if left := leaktest.Find(dir); len(left) > 0 {
		t.Errorf("mounts left after kill -9: %v", left)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil && countTrials(dir) < len(before)+5 {
			time.Sleep(10 * time.Millisecond)
		}
		cancel()
	}()
	r := plimsoll(t, ctx, dir, "", "run", "--resume")
	if !strings.Contains(r.stderr, "removed the leftovers of an earlier run") {
		t.Errorf("nothing was swept:\n%s", r.stderr)
	}
	_, after := records(t, dir)
	if len(after) < len(before) {
		t.Errorf("%d trials after resuming, %d before", len(after), len(before))
	}
	checkClean(t, dir)
}

// TestRunTwoInterrupts: the second interrupt makes cleaning up quick, not partial, and
// what was recorded stays.
func TestRunTwoInterrupts(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	interruptTwice(t, dir, small, 3)
	checkClean(t, dir)
}

// TestRunUnderTimeout: timeout(1) signals its command and then its whole process group, which is one interrupt. It was "interrupted twice:
// stopping at once", so that a run under timeout lost its last trial.
func TestRunUnderTimeout(t *testing.T) {
	needRun(t)
	dir := t.TempDir()
	cmd := startPlan(t, dir, small, "run", "-", "--blocks", "50")
	for end := time.Now().Add(time.Minute); countTrials(dir) < 1 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	for range 2 {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond) // Else they are one to the kernel.
	}
	cmd.Wait()
	if said := cmd.Stderr.(*output).String(); !strings.Contains(said, onceInterrupted) || strings.Contains(said, twiceInterrupted) {
		t.Errorf("two signals at once were not one interrupt:\n%s", said)
	}
	checkClean(t, dir)
}

// interruptTwice starts a plan, interrupts it twice in the middle of a trial when so many are
// recorded, and looks at what it kept and said.
func interruptTwice(t *testing.T, dir, plan string, after int) {
	t.Helper()
	cmd := startPlan(t, dir, plan, "run", "-", "--blocks", "50")
	for end := time.Now().Add(time.Minute); countTrials(dir) < after && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	before := countTrials(dir)
	said := cmd.Stderr.(*output)
	for _, answer := range []string{onceInterrupted, twiceInterrupted} {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		// Two that come before it took the first are one to the kernel.
		said.waitFor(t, answer)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the run hangs after two interrupts")
	}
	state := cmd.ProcessState
	if state.Sys().(syscall.WaitStatus).Signaled() || state.ExitCode() != exitFailure {
		t.Errorf("plimsoll ended with %v, want exit status %d", state, exitFailure)
	}
	run, trials := records(t, dir)
	if run.Status != record.Interrupted || len(trials) < before {
		t.Errorf("the run is %s with %d trials, want it interrupted with %d at least", run.Status, len(trials), before)
	}
	texttest.Has(t, said.String(), []string{"interrupted; its trials are kept", "'plimsoll report " + run.ID + " --state " + dir + "' shows it", "plimsoll run --resume"})
}
