package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/store"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/texttest"
)

// TestResultsOfAnotherUser: a user who may read the database may list its runs, also beside locks that an older version
// made for its user alone, or that lie in a folder that this user may not read.
func TestResultsOfAnotherUser(t *testing.T) {
	needRun(t)
	dir := nobodysFolder(t)
	from, _ := recordedRuns(t)
	state := filepath.Join(dir, "state")
	mustDo(t, os.CopyFS(state, os.DirFS(from)))
	mustDo(t, os.Chmod(state, 0o755))
	mustDo(t, os.Chmod(filepath.Join(state, "plimsoll.db"), 0o644))
	// The log's content goes into the database, and the log is removed.
	db, err := store.Open(filepath.Join(state, "plimsoll.db"))
	mustDo(t, err)
	mustDo(t, db.Close())
	runs := filepath.Join(state, "runs")
	mustDo(t, os.MkdirAll(runs, 0o755))
	lock := filepath.Join(runs, badRun+".lock")
	f, err := os.OpenFile(lock, os.O_RDWR|os.O_CREATE, 0o644)
	mustDo(t, err)
	defer f.Close()
	for _, tt := range []struct {
		name       string
		locked     bool
		mode       os.FileMode
		wantBroken bool
	}{
		{"a lock without a holder", false, 0o755, true},
		{"a lock that is held", true, 0o755, false},
		{"locks out of sight", true, 0o700, false},
	} {
		mustDo(t, os.Chmod(runs, tt.mode))
		how := unix.LOCK_UN
		if tt.locked {
			how = unix.LOCK_EX
		}
		mustDo(t, unix.Flock(int(f.Fd()), how))
		status, out, talk := asNobody(t, dir, "", "results", "ls", "--state", state)
		if status != exitDone {
			t.Errorf("%s: status %d: %s", tt.name, status, talk)
		}
		texttest.Has(t, out, []string{badRun, oldRun}, tt.name)
		if strings.Contains(out, "broken") != tt.wantBroken {
			t.Errorf("%s: want a broken run: %v; got\n%s", tt.name, tt.wantBroken, out)
		}
	}
}

// TestReadOnlyFolder: a folder that can't be written is wrong usage before anything is measured, for root too.
func TestReadOnlyFolder(t *testing.T) {
	needRun(t)
	dir := disktest.Tmpfs(t, "size=4m,ro")
	plan := "name: ro\nworkloads: {append: {kind: append, count: 100}}\nengines: [host]\nplaces: {d: {kind: dir, path: " + dir + "}}\nblocks: 1\n"
	r := plimsoll(t, t.Context(), t.TempDir(), plan, "run", "-")
	r.wantError(t, exitUsage, "can't be written", "read-only")
}
