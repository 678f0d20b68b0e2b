package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/measure/durability"
	"plimsoll/internal/testkit/golden"
)

func TestVerify(t *testing.T) {
	dir := t.TempDir()
	file, journal := filepath.Join(dir, "file"), filepath.Join(dir, "journal")
	say := func(want int, args ...string) result {
		t.Helper()
		r := plimsoll(t, t.Context(), dir, "", append([]string{"verify"}, args...)...)
		if r.status != want {
			t.Fatalf("%v: status %d, want %d\n%s%s", args, r.status, want, r.stdout, r.stderr)
		}
		return r
	}
	r := say(exitDone, file, "--size", "1MiB", "--journal", journal)
	golden.Check(t, "verify.txt", r.stdout, golden.Text(dir, "DIR"))
	// Its own file may be written again, a journal that is there not.
	say(exitDone, file, "--size", "1MiB", "--iodepth", "8", "--direct", "--bs", "8KiB")
	say(exitUsage, file, "--size", "1MiB", "--journal", journal)
	if err := os.Remove(journal); err != nil {
		t.Fatal(err)
	}
	r = say(exitDone, file, "--size", "1MiB", "--journal", "-")
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, 4096), 40960); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := os.WriteFile(journal, []byte(r.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	r = say(exitNotHeld, "--check", "--journal", journal)
	golden.Check(t, "verify-damaged.txt", r.stdout, golden.Text(dir, "DIR"), golden.Pattern(`write \d+`, "write N"))
	r = say(exitNotHeld, "--check", "--journal", journal, "--json")
	var rep durability.Report
	if err := json.Unmarshal([]byte(r.stdout), &rep); err != nil {
		t.Fatal(err)
	}
	if rep.Bad != 1 || rep.Faults[0].Offset != 40960 {
		t.Errorf("%+v, want one fault at 40960", rep)
	}
	// Another wrote to it: it is no longer Plimsoll's.
	var said transcript
	refuse := func(args ...string) {
		t.Helper()
		args = append([]string{"verify"}, args...)
		r := plimsoll(t, t.Context(), dir, "", args...)
		if r.status != exitUsage {
			t.Errorf("%v: status %d, want %d\n%s", args, r.status, exitUsage, r.stderr)
		}
		said.add(args, r)
	}
	refuse(file, "--size", "1MiB")
	say(exitDone, file, "--size", "1MiB", "--destructive", file)
	// Impossible options are refused before anything is made, the journal included.
	fresh, note := filepath.Join(dir, "fresh"), filepath.Join(dir, "note")
	refuse(fresh, "--size", "5000", "--journal", note)
	refuse(fresh, "--size", "many", "--journal", note)
	refuse(fresh, "--iodepth", "100000", "--journal", note)
	refuse(fresh, "--journal", fresh)
	refuse(fresh, "--journal", "/nonexistent/j")
	refuse(journal, "--size", "1MiB", "--journal", note)
	refuse()
	refuse("--check")
	refuse("--check", "--journal", "/nonexistent/j")
	for _, path := range []string{fresh, note} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a refused line made %s: %v", path, err)
		}
	}
	said.check(t, "verify-refuses.txt", golden.Text(dir, "DIR"), golden.Pattern(`of \d+ bytes`, "of N bytes"))
}
