package main

import (
	"os"
	"strings"
	"testing"
)

// TestEmptyState: an empty --state is refused, with every command: notes and records would go to the folder in which one happens to be, where
// nobody finds them again.
func TestEmptyState(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"limit", "show", "--device-wide", "--state", ""},
		{"limit", "clear", "--device-wide", "--state="},
		{"--state", "", "results", "ls"},
		{"daemon", "--check", "--state", ""},
		{"dd", "if=/dev/zero", "of=x", "count=1", "--state", ""},
		{"dd", "if=/dev/zero", "of=x", "count=1", "--state="},
	} {
		r := plimsoll(t, t.Context(), dir, "", args...)
		if r.status != exitUsage || !strings.Contains(r.stderr, "--state") || !strings.Contains(r.stderr, "it is empty: give it a value") {
			t.Errorf("%q: status %d, %s", args, r.status, r.stderr)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("in the current folder: %v, %v", left, err)
	}
}
