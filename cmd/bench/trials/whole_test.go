package trials

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTimeWhole: a run has its time and goal; one that had failed cells says so, and one
// that did not come to its end has no time. The program is a stand-in: the real one takes minutes, and
// make bench times it.
func TestTimeWhole(t *testing.T) {
	for _, tt := range []struct {
		name               string
		whole              whole
		script, note, args string
		err                string
	}{
		{"quick", quickRun, `echo "$*" >"$0.args"; echo "$DOCKER_HOST" >>"$0.args"`, "", "run --quick --state S", ""},
		{"full", fullRun, `echo "$*" >"$0.args"; echo "$DOCKER_HOST" >>"$0.args"`, "", "run --state S --out D", ""},
		{"cells failed", quickRun, "exit 3", "cells failed", "", ""},
		{"error", fullRun, "echo 'plimsoll: no room' >&2; exit 1", "", "", "no room"},
	} {
		program, state := filepath.Join(t.TempDir(), "plimsoll"), filepath.Join(t.TempDir(), "state")
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+tt.script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := timeWhole(t.Context(), tt.whole, program, "unix:///d.sock", state)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		}
		if f.Name != tt.whole.name || f.Note != tt.note {
			t.Errorf("%s: name %q and note %q, want %q and %q", tt.name, f.Name, f.Note, tt.whole.name, tt.note)
		}
		if f.Ours[0] <= 0 || f.Goal.Value != float64(tt.whole.most) {
			t.Errorf("%s: it took %v with the goal %v, want %v", tt.name, f.Ours[0], f.Goal.Value, tt.whole.most)
		}
		if tt.args == "" {
			continue
		}
		if b, _ := os.ReadFile(program + ".args"); string(b) != strings.NewReplacer("S", state, "D", filepath.Dir(state)).Replace(tt.args)+"\nunix:///d.sock\n" {
			t.Errorf("%s: it was called with %q, want %s", tt.name, b, tt.args)
		}
	}
	if _, err := timeWhole(t.Context(), quickRun, filepath.Join(t.TempDir(), "none"), "", filepath.Join(t.TempDir(), "s")); err == nil {
		t.Error("a program that isn't there has a time")
	}
	// Figures that were complete before a failure are kept.
	if all, err := timeWholes(t.Context(), options{quick: "true", full: "false"}, t.TempDir()); err == nil || len(all) != 1 || all[0].Name != quickRun.name {
		t.Errorf("before a run that failed: %+v, %v", all, err)
	}
}
