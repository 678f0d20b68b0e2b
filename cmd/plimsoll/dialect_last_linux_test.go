package main

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestDDsRateIsTheLastLine: scripts take dd's rate by tail -1, from ours as from dd's own; so what Plimsoll says of it stands before, and with
// status=none there is nothing but errors. Ten writes are too few to go without a doubt.
func TestDDsRateIsTheLastLine(t *testing.T) {
	needRun(t)
	inFolder(t)
	const line = "if=/dev/zero of=q bs=64k count=10"
	last := regexp.MustCompile(`^655360 bytes \(655 kB, 640 KiB\) copied, \S+ s, \S+ .?B/s$`)
	theirs, err := exec.Command("dd", strings.Fields(line)...).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		more            string
		doubts, records bool
		last            *regexp.Regexp
	}{
		{"", true, false, last},
		{"--record", true, true, last},
		{"status=progress", true, false, last},
		{"status=noxfer", true, false, regexp.MustCompile(`^10\+0 records out$`)},
		{"status=none", false, false, nil},
		{"status=none --record", false, true, nil},
	} {
		r := plimsoll(t, t.Context(), t.TempDir(), "", strings.Fields("dd "+line+" --destructive q "+c.more)...)
		if r.status != exitDone {
			t.Fatalf("%s: status %d\n%s", c.more, r.status, r.stderr)
		}
		lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
		if c.last != nil && !c.last.MatchString(lines[len(lines)-1]) {
			t.Errorf("%s: the last line isn't dd's:\n%s", c.more, r.stderr)
		}
		if strings.Contains(r.stderr, "plimsoll: doubt (") != c.doubts || strings.Contains(r.stderr, "recorded as run") != c.records {
			t.Errorf("%s: want doubts %t, a record %t:\n%s", c.more, c.doubts, c.records, r.stderr)
		}
	}
	if lines := strings.Split(strings.TrimSpace(string(theirs)), "\n"); !last.MatchString(lines[len(lines)-1]) {
		t.Errorf("dd's own last line isn't as expected:\n%s", theirs)
	}
}
