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

// TestVerifySmallWrites: a limit on the number of writes in the group alone doesn't hold what the flusher writes back: the row names the
// reason and the command that fixes it, in JSON too. A mode that is named and tests nothing has a row that says so.
func TestVerifySmallWrites(t *testing.T) {
	t.Parallel() // A limited process mostly waits, and the disk is this test's own.
	l := newBadLab(t)
	l.do(t, exitDone, "set", l.name, "--path", l.path, "--write-iops", "100")
	_, text := l.judged(t, judge.NotHeld, exitNotHeld, []string{"trying one limit in one mode"}, "verify", l.name, "--path", l.path, "--write-iops", "100", "--modes", "buffered", "--json")
	var got []verify.Result
	if err := json.Unmarshal([]byte(text[:strings.LastIndex(text, "]")+1]), &got); err != nil || len(got) != 1 || len(got[0].Rows) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	r := got[0].Rows[0]
	if r.Verdict != judge.NotHeld {
		t.Errorf("the row in JSON: %+v", r)
	}
	if !strings.Contains(r.Why, "flusher") {
		t.Errorf("why: %q", r.Why)
	}
	if !strings.Contains(r.Fix, "--write-iops 100 --device-wide") {
		t.Errorf("fix: %q", r.Fix)
	}
	text = l.says(t, exitCannot, []string{"; reads don't sync, so the mode dsync can't test them"}, "verify", l.name, "--path", l.path, "--read-iops", "100", "--modes", "dsync")
	if strings.Contains(text, "trying") {
		t.Errorf("something was measured: %s", text)
	}
}

// TestVerifyReadOnly: where no scratch file can be written, nothing can be tried: that is no error of a measurement.
func TestVerifyReadOnly(t *testing.T) {
	t.Parallel() // It waits while the target is looked at.
	l := newBadLab(t)
	disktest.Remount(t, l.path, unix.MS_RDONLY)
	l.says(t, exitCannot, []string{"can't be tried here: it is on a read-only file system, and verify writes a scratch file"}, "verify", l.name, "--path", l.path)
}
