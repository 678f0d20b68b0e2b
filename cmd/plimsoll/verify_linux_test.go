package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
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
	if err := json.Unmarshal([]byte(r.stdout), &rep); err != nil || rep.Bad != 1 || rep.Faults[0].Offset != 40960 {
		t.Errorf("%+v, %v", rep, err)
	}
	// Somebody wrote to it: it is no longer Plimsoll's.
	if r := say(exitUsage, file, "--size", "1MiB"); !strings.Contains(r.stderr, "--destructive "+file) {
		t.Errorf("said %q", r.stderr)
	}
	say(exitDone, file, "--size", "1MiB", "--destructive", file)
	// Impossible options are refused before anything is made, the journal included.
	fresh, note := filepath.Join(dir, "fresh"), filepath.Join(dir, "note")
	for want, args := range map[string][]string{
		"not a multiple":             {fresh, "--size", "5000", "--journal", note},
		"iodepth=100000":             {fresh, "--iodepth", "100000", "--journal", note},
		"keep the journal elsewhere": {fresh, "--journal", fresh},
		"open /nonexistent/j":        {fresh, "--journal", "/nonexistent/j"},
		"that Plimsoll did not make": {journal, "--size", "1MiB", "--journal", note},
	} {
		r := say(exitUsage, args...)
		_, ferr := os.Stat(fresh)
		_, nerr := os.Stat(note)
		if !strings.Contains(r.stderr, want) || !errors.Is(ferr, os.ErrNotExist) || !errors.Is(nerr, os.ErrNotExist) {
			t.Errorf("%v: %q, want %q, and nothing made: %v, %v", args, r.stderr, want, ferr, nerr)
		}
	}
	for want, args := range map[string][]string{
		"name the file":    {},
		"needs --journal":  {"--check"},
		"--size":           {file, "--size", "many"},
		"not a multiple":   {filepath.Join(dir, "g"), "--size", "5000"},
		"--journal: open ": {"--check", "--journal", "/nonexistent/j"},
	} {
		r := plimsoll(t, t.Context(), dir, "", append([]string{"verify"}, args...)...)
		if r.status == exitDone || !strings.Contains(r.stderr, want) {
			t.Errorf("%v: status %d, %q, want %q", args, r.status, r.stderr, want)
		}
	}
}
