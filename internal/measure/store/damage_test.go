package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDamagedPages: where pages of the table are damaged, the trials on the others can be read, each once.
func TestDamagedPages(t *testing.T) {
	const trials = 60
	path := filepath.Join(t.TempDir(), "plimsoll.db")
	s := openAt(t, path)
	if err := s.PutRun(sampleRun("r")); err != nil {
		t.Fatal(err)
	}
	for i := range trials {
		if err := s.PutTrial(sampleTrial("r", i, 12)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Leaves of tables begin with 0x0d (https://sqlite.org/fileformat2.html#b_tree_pages). The last third of the file is trials.
	hit := 0
	for at := len(b) * 2 / 3 / 4096 * 4096; at < len(b) && hit < 2; at += 4096 {
		if b[at] == 0x0d {
			copy(b[at:at+4096], bytes.Repeat([]byte{0xff}, 4096))
			hit++
		}
	}
	if hit == 0 {
		t.Fatal("no page to damage")
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	seen, damage, lost := map[int]int{}, 0, 0
	for tr, err := range s.EachTrial("r", TrialsOptions{Histograms: true}) {
		var bad *DamageError
		switch {
		case errors.As(err, &bad):
			damage++
			lost += max(bad.Lost, 1)
			if bad.Lost == LostUnknown {
				lost = trials - len(seen) // The index is damaged too, and no number is claimed.
			}
		case err != nil:
			t.Fatal(err)
		default:
			seen[tr.Order]++
		}
	}
	if damage == 0 || len(seen) < trials/2 || len(seen) == trials {
		t.Errorf("%d of %d trials were read, with %d faults", len(seen), trials, damage)
	}
	if len(seen)+lost != trials {
		t.Errorf("%d trials were read and %d are said to be lost, of %d", len(seen), lost, trials)
	}
	for order, n := range seen {
		if n != 1 {
			t.Errorf("trial %d was read %d times", order, n)
		}
	}
	t.Logf("%d of %d trials were read", len(seen), trials)
}

// damagePages writes over each page that holds text, but for the first one. It returns how many those were.
func damagePages(t *testing.T, path string, text ...string) (n int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 4096; at < len(b); at += 4096 {
		page := b[at : at+4096]
		if !slices.ContainsFunc(text, func(s string) bool { return !bytes.Contains(page, []byte(s)) }) {
			copy(page, bytes.Repeat([]byte{0xff}, 4096))
			n++
		}
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDamagedRuns: where the table of the runs is damaged, the trials can be read as long as an index has the run's name; and advice never
// names an export that fails the same way.
func TestDamagedRuns(t *testing.T) {
	const id = "20261121-153000-3f9a"
	path := filepath.Join(t.TempDir(), "plimsoll.db")
	s := openAt(t, path)
	if err := s.PutRun(sampleRun(id)); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := s.PutTrial(sampleTrial(id, i, 12)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if damagePages(t, path, id, `"id":"`) == 0 {
		t.Fatal("no page holds the run's record")
	}
	s = openAt(t, path)
	_, err := s.Runs(Filter{})
	if err == nil || !strings.Contains(err.Error(), "plimsoll results export "+id) {
		t.Errorf("Runs() = %v, want the export that works", err)
	}
	var bad *DamageError
	if _, err := s.Run(id); !errors.As(err, &bad) {
		t.Errorf("Run() = %v, want a *DamageError", err)
	}
	if got, err := s.Resolve(id); got != id || err != nil {
		t.Errorf("Resolve() = %q, %v", got, err)
	}
	if all, err := s.Trials(id, TrialsOptions{}); err != nil || len(all) != 3 {
		t.Errorf("Trials() = %d, %v", len(all), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	if damagePages(t, path, id) == 0 {
		t.Fatal("no page holds the run's name")
	}
	s = openAt(t, path)
	for _, ask := range []func() error{
		func() error { _, err := s.Runs(Filter{}); return err },
		func() error { _, err := s.Resolve(id); return err },
	} {
		err := ask()
		if err == nil {
			t.Error("with no list of runs there is no error")
			continue
		}
		if strings.Contains(err.Error(), "results export") {
			t.Errorf("%v names results export, which needs the list of runs", err)
		}
		if !strings.Contains(err.Error(), "restore a copy") || !strings.Contains(err.Error(), "--state") {
			t.Errorf("%v, want the fixes: a copy, or --state", err)
		}
	}
}

// TestLocksOfTheKilled: what a killed process left of a lock goes with the next run, and a living one's stays.
func TestLocksOfTheKilled(t *testing.T) {
	s := openTemp(t)
	release, err := s.Own("alive")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(s.lockPath("x"))
	for _, name := range []string{"killed.lock", "killed-2.lock", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("4711\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	next, err := s.Own("next")
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"alive.lock", "next.lock", "notes.txt"}; !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
	if alive, err := s.Alive("alive"); !alive || err != nil {
		t.Errorf("Alive() = %v, %v", alive, err)
	}
	if err := errors.Join(release(), next()); err != nil {
		t.Error(err)
	}
}
