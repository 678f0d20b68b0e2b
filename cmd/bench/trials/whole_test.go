package trials

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestTimeWhole: the time of a run stands beside its goal; one that had failed cells says so, and one
// that did not come to its end has none. The program is a stand-in: the real one takes minutes, and
// make bench times it.
func TestTimeWhole(t *testing.T) {
	for _, tt := range []struct {
		name              string
		whole             whole
		script, out, args string
		err               string
	}{
		{"quick", quickRun, `echo "$*" >"$0.args"; echo "$DOCKER_HOST" >>"$0.args"`, `^plimsoll run --quick: \d+\.\d\d s, target <= 90 s, met\n$`, "run --quick --state S", ""},
		{"full", fullRun, `echo "$*" >"$0.args"; echo "$DOCKER_HOST" >>"$0.args"`, `^make run, once built: \d+\.\d\d s, target <= 360 s, met\n$`, "run --state S --out D", ""},
		{"missed", whole{"it", []string{"run"}, false, time.Nanosecond}, "exit 0", `^it: \d+\.\d\d s, target <= 1e-09 s, MISSED\n$`, "", ""},
		{"cells failed", quickRun, "exit 3", `^plimsoll run --quick, in which cells failed: \d+\.\d\d s, target <= 90 s, met\n$`, "", ""},
		{"error", fullRun, "echo 'plimsoll: no room' >&2; exit 1", "^$", "", "no room"},
	} {
		program, state := filepath.Join(t.TempDir(), "plimsoll"), filepath.Join(t.TempDir(), "state")
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+tt.script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		took, err := timeWhole(t.Context(), &out, tt.whole, program, "unix:///d.sock", state)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		}
		if err == nil && took <= 0 {
			t.Errorf("%s: it took %v", tt.name, took)
		}
		if !regexp.MustCompile(tt.out).Match(out.Bytes()) {
			t.Errorf("%s: %q, want %s", tt.name, out.String(), tt.out)
		}
		if tt.args == "" {
			continue
		}
		if b, _ := os.ReadFile(program + ".args"); string(b) != strings.NewReplacer("S", state, "D", filepath.Dir(state)).Replace(tt.args)+"\nunix:///d.sock\n" {
			t.Errorf("%s: it was called with %q, want %s", tt.name, b, tt.args)
		}
	}
	if _, err := timeWhole(t.Context(), &bytes.Buffer{}, quickRun, filepath.Join(t.TempDir(), "none"), "", filepath.Join(t.TempDir(), "s")); err == nil {
		t.Error("a program that isn't there has a time")
	}
}
