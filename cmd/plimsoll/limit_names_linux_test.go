package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/limit/hold"
	"plimsoll/internal/testkit/texttest"
	"plimsoll/internal/text/clean"
)

// forged is a name that looks like another message, if it is printed as it is.
const forged = "/da\x1b[31mta\nplimsoll: fine"

// TestHostilePaths: a path with a line break in it is quoted in errors, and in the commands that are to be copied. These named another path.
func TestHostilePaths(t *testing.T) {
	for _, err := range []error{&hold.MissingError{Path: forged}, &hold.MissingError{Target: "docker:web", Path: forged}} {
		if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), `\nplimsoll: fine"`) {
			t.Errorf("%q", err)
		}
	}
	dir := t.TempDir()
	for _, name := range []string{forged, "it's\n\\ \u00e9\u202e", "plain", "two words", "it's"} {
		word := clean.Shell(name)
		if strings.ContainsAny(word, "\n\x1b") {
			t.Errorf("clean.Shell(%q) = %q", name, word)
		}
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := exec.Command("bash", "-c", "ls -d "+clean.Shell(file)+" >/dev/null && printf %s "+word).CombinedOutput(); err != nil || string(got) != name {
			t.Errorf("bash reads %s as %q, %v; want %q", word, got, err, name)
		}
	}
}

// TestHookHostileID: what the hook says of a container whose id has a line break in it is one line.
func TestHookHostileID(t *testing.T) {
	dir := t.TempDir()
	r := plimsoll(t, t.Context(), dir, `{"ociVersion":"1.0.0","id":"a\nplimsoll: fine\u001b[1m","status":"created","pid":0,"bundle":"/b"}`, "limit", "hook", "--run", filepath.Join(dir, "run"))
	if r.status != exitFailure {
		t.Errorf("status %d, want %d", r.status, exitFailure)
	}
	if strings.Count(r.stderr, "\n") != 1 || strings.Contains(r.stderr, "\x1b") {
		t.Errorf("%q, want one line without escapes", r.stderr)
	}
	texttest.Has(t, r.stderr, []string{"has no process yet"})
}
