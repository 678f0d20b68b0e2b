package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTimeQuick: the time of a run stands beside its goal; one that had failed cells says so, and one
// that did not come to its end has none. The program is a stand-in: the real one takes a minute, and
// make bench times it.
func TestTimeQuick(t *testing.T) {
	for _, tt := range []struct {
		name, script, out, err string
	}{
		{"done", `echo "$*" >"$0.args"; echo "$DOCKER_HOST" >>"$0.args"`, `^plimsoll run --quick: \d+\.\d\d s, target <= 90 s, met\n$`, ""},
		{"cells failed", "exit 3", `^plimsoll run --quick, in which cells failed: \d+\.\d\d s, target <= 90 s, met\n$`, ""},
		{"error", "echo 'plimsoll: no room' >&2; exit 1", "^$", "no room"},
	} {
		program := filepath.Join(t.TempDir(), "plimsoll")
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+tt.script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err := timeQuick(t.Context(), &out, program, "unix:///d.sock", "/nowhere/state")
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		}
		if !regexp.MustCompile(tt.out).Match(out.Bytes()) {
			t.Errorf("%s: %q, want %s", tt.name, out.String(), tt.out)
		}
		if tt.name == "done" {
			if b, _ := os.ReadFile(program + ".args"); string(b) != "run --quick --state /nowhere/state\nunix:///d.sock\n" {
				t.Errorf("it was called with %q", b)
			}
		}
	}
	if err := timeQuick(t.Context(), &bytes.Buffer{}, filepath.Join(t.TempDir(), "none"), "", ""); err == nil {
		t.Error("a program that isn't there has a time")
	}
}
