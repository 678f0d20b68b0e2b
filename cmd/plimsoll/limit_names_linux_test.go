package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/limit"
	"plimsoll/internal/limit/cgroup"
	"plimsoll/internal/limit/explain"
	"plimsoll/internal/limit/hold"
	"plimsoll/internal/text/clean"
)

// forged is a name that looks like another message, if it is printed as it is.
const forged = "/da\x1b[31mta\nplimsoll: fine"

// TestHostilePaths: a path with a line break in it is quoted in what is said of it, on its line, and in the commands that are to be copied. Set printed it as it is,
// and the commands named another path.
func TestHostilePaths(t *testing.T) {
	var out bytes.Buffer
	a := &app{stdout: &out, stderr: &out}
	e := &explain.Explanation{Possible: true, Hard: []explain.Spot{{Name: "sda", Major: 8}}}
	s := &hold.Scope{Grounds: []hold.Ground{{Name: forged, Path: forged, Explanation: e}}, Notes: []string{forged + ": writes are NOT held"}}
	a.tellChange(s, limit.Change{Set: limit.Limits{WriteBPS: 1 << 20}}, nil, false)
	text := out.String()
	if !strings.Contains(text, `"/da\x1b[31mta\nplimsoll: fine": on sda (8:0)`+"\n") {
		t.Errorf("the path is not quoted in\n%s", text)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "plimsoll: fine") || strings.Contains(line, "\x1b") {
			t.Errorf("a line of its own, or an escape: %q", line)
		}
	}
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

// TestRootGroupWords: of what was set in the root group the rates are told, which are all that it takes.
func TestRootGroupWords(t *testing.T) {
	var out bytes.Buffer
	part := hold.Done{Part: hold.Part{Name: "the root group", DeviceWide: true}, Diff: &cgroup.Diff{}, Writes: 1}
	(&app{stdout: &out}).tellChange(&hold.Scope{}, limit.Change{Set: limit.Limits{WriteBPS: 8 << 20, Memory: 256 << 20, CPUs: 1}}, []hold.Done{part}, false)
	if got := out.String(); strings.Contains(got, "memory") || strings.Contains(got, "cpus") {
		t.Errorf("said %q", got)
	}
}

// TestHookHostileID: what the hook says of a container whose id has a line break in it is one line.
func TestHookHostileID(t *testing.T) {
	dir := t.TempDir()
	r := plimsoll(t, t.Context(), dir, `{"ociVersion":"1.0.0","id":"a\nplimsoll: fine\u001b[1m","status":"created","pid":0,"bundle":"/b"}`, "limit", "hook", "--run", filepath.Join(dir, "run"))
	if r.status != exitFailure || strings.Count(r.stderr, "\n") != 1 || strings.Contains(r.stderr, "\x1b") || !strings.Contains(r.stderr, "has no process yet") {
		t.Errorf("status %d, %q", r.status, r.stderr)
	}
}
