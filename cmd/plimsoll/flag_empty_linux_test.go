package main

import (
	"os"
	"testing"

	"plimsoll/internal/testkit/golden"
)

// TestEmptyState: an empty --state is refused, with every command: notes and records would go to the current folder, where
// later commands don't look.
func TestEmptyState(t *testing.T) {
	dir := t.TempDir()
	var said transcript
	for _, args := range [][]string{
		{"limit", "show", "--device-wide", "--state", ""},
		{"limit", "clear", "--device-wide", "--state="},
		{"--state", "", "results", "ls"},
		{"daemon", "--check", "--state", ""},
		{"dd", "if=/dev/zero", "of=x", "count=1", "--state", ""},
		{"dd", "if=/dev/zero", "of=x", "count=1", "--state="},
	} {
		said.add(args, plimsoll(t, t.Context(), dir, "", args...))
	}
	said.check(t, "empty-state.txt", golden.Text(dir, "DIR"))
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("in the current folder: %v, %v", left, err)
	}
}
