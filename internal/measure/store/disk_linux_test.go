package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/disktest"
)

// TestFullDisk fills the disk with trials: the error says so, all trials before
// it are kept, and space that is freed is used.
func TestFullDisk(t *testing.T) {
	dir := disktest.Tmpfs(t, "size=6m")
	path := filepath.Join(dir, "plimsoll.db")
	ballast := filepath.Join(dir, "ballast")
	must(t, os.WriteFile(ballast, make([]byte, 256<<10), 0o600))
	s, err := Open(path)
	must(t, err)
	defer func() { s.Close() }()
	must(t, s.PutRun(sampleRun("old")))
	must(t, s.PutRun(sampleRun("r")))
	put := func(run string, from, to int) (int, error) {
		for i := from; i < to; i++ {
			if err := s.PutTrial(sampleTrial(run, i, 1)); err != nil {
				return i, err
			}
		}
		return to, nil
	}
	if n, err := put("old", 0, 400); err != nil {
		t.Fatalf("after %d trials: %v", n, err)
	}
	n, err := put("r", 0, 100_000)
	for _, words := range []string{path, "no space left", "plimsoll results rm"} {
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Fatalf("PutTrial on a full disk = %v, want %q", err, words)
		}
	}
	if n == 0 {
		t.Fatal("no trial fitted")
	}
	check := func(want int) {
		t.Helper()
		got, err := s.Trials("r", TrialsOptions{Histograms: true})
		if err != nil || len(got) != want {
			t.Errorf("%d trials are there, want %d: %v", len(got), want, err)
		}
	}
	check(n)
	// Another process can read the records, also after a restart.
	must(t, s.Close())
	s, err = Open(path)
	must(t, err)
	check(n)
	// With a little room, too little for a log of the whole removal, a run can go.
	must(t, os.Remove(ballast))
	if err := s.Delete("old"); err != nil {
		t.Fatalf("Delete on a full disk = %v", err)
	}
	if _, err := put("r", n, n+20); err != nil {
		t.Fatalf("PutTrial after room was made = %v", err)
	}
	check(n + 20)
}

// TestFullDiskAtTheEnd: the end of a run is recorded on a full disk, as a trial is: the log is merged,
// which makes the room for it.
func TestFullDiskAtTheEnd(t *testing.T) {
	dir := disktest.Tmpfs(t, "size=2m")
	s, err := Open(filepath.Join(dir, "plimsoll.db"))
	must(t, err)
	defer s.Close()
	run := sampleRun("r")
	must(t, s.PutRun(run))
	must(t, s.drain("PRAGMA wal_checkpoint(TRUNCATE)"))
	// Each goes to the pages that are there, by way of the log.
	for i := range 20 {
		run.Blocks = 100 + i
		must(t, s.PutRun(run))
	}
	disktest.Fill(t, dir)
	run.Status = record.Done
	must(t, s.PutRun(run))
	if got, err := s.Run("r"); err != nil || got.Status != record.Done {
		t.Errorf("the run is %q, %v", got.Status, err)
	}
}

// TestFullDiskAtOpen has no room for a database at all.
func TestFullDiskAtOpen(t *testing.T) {
	dir := disktest.Tmpfs(t, "size=32k")
	disktest.Fill(t, dir)
	path := filepath.Join(dir, "plimsoll.db")
	s, err := Open(path)
	if err == nil {
		s.Close()
		t.Fatal("Open on a full disk succeeded")
	}
	if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "full") && !strings.Contains(err.Error(), "no space") {
		t.Errorf("Open on a full disk = %v", err)
	}
}

// TestFullDiskBeforeRun: a database on a full disk can be opened, and what there is no room for is said
// before anything is measured. The look leaves nothing.
func TestFullDiskBeforeRun(t *testing.T) {
	dir := disktest.Tmpfs(t, "size=4m")
	s := openAt(t, filepath.Join(dir, "plimsoll.db"))
	must(t, s.PutRun(sampleRun("r")))
	files := func() (names []string) {
		all, err := os.ReadDir(dir)
		must(t, err)
		for _, f := range all {
			names = append(names, f.Name())
		}
		return names
	}
	before := files()
	must(t, s.CheckWritable())
	if after := files(); !slices.Equal(before, after) {
		t.Errorf("the look left %q, before %q", after, before)
	}
	ballast := disktest.Fill(t, dir)
	if err := s.CheckWritable(); !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), s.path) || !strings.Contains(err.Error(), "--state") {
		t.Errorf("CheckWritable() on a full disk = %v, want the path and what to do", err)
	}
	must(t, os.Remove(ballast))
	if after := files(); !slices.Equal(before, after) {
		t.Errorf("the look left %q, before %q", after, before)
	}
}

func TestReadOnly(t *testing.T) {
	dir := disktest.Tmpfs(t, "size=4m")
	path := filepath.Join(dir, "old", "plimsoll.db")
	s, err := Open(path)
	must(t, err)
	r := sampleRun("r")
	r.Status = record.Done
	must(t, s.PutRun(r))
	must(t, s.PutTrial(sampleTrial("r", 0, 1)))
	must(t, s.Close())
	disktest.Remount(t, dir, unix.MS_RDONLY)
	// The records can be read. Nothing can be written, and an error says so at once.
	s = openAt(t, path)
	if trials, err := s.Trials("r", TrialsOptions{Histograms: true}); err != nil || len(trials) != 1 {
		t.Errorf("%d trials on a read-only disk, %v; want 1", len(trials), err)
	}
	for name, err := range map[string]error{"CheckWritable": s.CheckWritable(), "PutTrial": s.PutTrial(sampleTrial("r", 1, 1))} {
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "name another state folder with --state") {
			t.Errorf("%s on a read-only disk = %v, want the path and what to do", name, err)
		}
	}
	for _, path := range []string{filepath.Join(dir, "old", "new.db"), filepath.Join(dir, "new", "plimsoll.db")} {
		s, err := Open(path)
		if err == nil {
			s.Close()
			t.Errorf("Open(%s) on a read-only disk succeeded", path)
			continue
		}
		if !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "name another state folder with --state") {
			t.Errorf("Open(%s) on a read-only disk = %v, want the path and what to do", path, err)
		}
	}
}

// TestOpenPipe: a named pipe in the database's place is refused; opening it would wait for a writer for ever.
func TestOpenPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plimsoll.db")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	refused := make(chan error, 1)
	go func() {
		_, err := Open(path)
		refused <- err
	}()
	select {
	case err := <-refused:
		if err == nil || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("Open() = %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it waits for a writer")
	}
}
