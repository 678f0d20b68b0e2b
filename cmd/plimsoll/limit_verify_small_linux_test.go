package main

import (
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/limit/judge"
	"plimsoll/internal/measure/verify"
	"plimsoll/internal/testkit/disktest"
)

// TestVerifySmallWrites: a limit on the number of writes in the group alone is told not to hold what the flusher writes back, with what
// mends it; and a mode that is named has a row, or is said to say nothing.
func TestVerifySmallWrites(t *testing.T) {
	t.Parallel() // What is limited waits most of the time, and its disk is its own.
	l := newBadLab(t)
	run := func(args ...string) (status int, out, errs string) {
		r := l.run(t, append(args, "--path", l.path)...)
		return r.status, r.stdout, r.stderr
	}
	l.do(t, exitDone, "set", l.name, "--path", l.path, "--write-iops", "100")
	status, out, errs := run("verify", l.name, "--write-iops", "100", "--modes", "buffered", "--time", "3s", "--json")
	var got []verify.Result
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got) != 1 || len(got[0].Rows) != 1 {
		t.Fatalf("status %d: %v: %s%s", status, err, out, errs)
	}
	r := got[0].Rows[0]
	if status != exitNotHeld || r.Verdict != judge.NotHeld || !strings.Contains(r.Why, "flusher") || !strings.Contains(r.Fix, "--write-iops 100 --device-wide") {
		t.Errorf("status %d, %+v", status, r)
	}
	if !strings.Contains(errs, "trying one limit in one mode") {
		t.Errorf("stderr %q", errs)
	}
	status, out, errs = run("verify", l.name, "--read-iops", "100", "--modes", "dsync")
	if status != exitCannot || !strings.Contains(out, "; reads don't sync, so the mode dsync can't test them") || strings.Contains(errs, "trying") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}

// TestVerifyReadOnly: where no scratch file can be written, nothing can be tried: that is no error of a measurement.
func TestVerifyReadOnly(t *testing.T) {
	t.Parallel() // It waits while the target is looked at.
	l := newBadLab(t)
	disktest.Remount(t, l.path, unix.MS_RDONLY)
	l.says(t, exitCannot, []string{"can't be tried here: it is on a read-only file system, and verify writes a scratch file"}, "verify", l.name, "--path", l.path)
}
