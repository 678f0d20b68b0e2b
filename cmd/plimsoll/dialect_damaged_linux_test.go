package main

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDialectRecordDamaged: a database that takes no record says so once. It was said for the trial, and again for the run.
func TestDialectRecordDamaged(t *testing.T) {
	needRun(t)
	state := t.TempDir()
	inFolder(t)
	line := []string{"dd", "if=/dev/zero", "of=first", "bs=4K", "count=1", "--record"}
	if r := apart(t, t.Context(), state, "", line...); r.status != exitDone {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	db, err := os.OpenFile(filepath.Join(state, "plimsoll.db"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	noise := make([]byte, 200*4096)
	rand.Read(noise) // It never fails.
	if _, err := db.WriteAt(noise, 4096); err != nil {
		t.Fatal(err)
	}
	if r := plimsoll(t, t.Context(), state, "", line...); r.status != exitFailure || strings.Count(r.stderr, "is damaged") != 1 {
		t.Errorf("status %d, want %d and one word of the damage: %s", r.status, exitFailure, r.stderr)
	}
}
