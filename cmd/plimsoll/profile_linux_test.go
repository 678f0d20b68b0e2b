package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/provide/profile"
	"plimsoll/internal/testkit/golden"
)

// TestProfileRefuses: bad input is wrong usage, with each fault and its position, and nothing is kept.
func TestProfileRefuses(t *testing.T) {
	folder := t.TempDir()
	state := filepath.Join(folder, "state")
	broken, sound := filepath.Join(folder, "broken.yaml"), filepath.Join(folder, "sound.yaml")
	mustDo(t, os.WriteFile(broken, []byte("capcity: 20\niops: 100\n"), 0o600))
	mustDo(t, os.WriteFile(sound, []byte("capacity: 20\n"), 0o600))
	var said transcript
	for _, args := range [][]string{
		{"nosuch"},
		{"ls", "x"},
		{"show"},
		{"show", "GLOD"},
		{"show", filepath.Join(folder, "none.yaml")},
		{"show", folder + "/"},
		{"show", broken},
		{"check", broken},
		{"check", broken, "--json"},
		{"check", "GOLD", "--backend", "locl"},
		{"check", "GOLD", "--backnd", "local"},
		{"add", "WEB"},
		{"add", "WEB", broken},
		{"add", "gold", sound},
		{"add", "a/b", sound},
		{"add", "WEB", filepath.Join(folder, "none.yaml")},
		{"rm", "gold"},
		{"rm", "WEB"},
		{"schema", "x"},
	} {
		args = append([]string{"profile"}, args...)
		r := plimsoll(t, t.Context(), state, "", args...)
		if r.status != exitUsage {
			t.Errorf("%q: status %d, want %d", args, r.status, exitUsage)
		}
		said.add(args, r)
	}
	said.check(t, "profile-refuses.txt", golden.Text(folder, "DIR"))
	if _, err := os.Stat(state); !os.IsNotExist(err) {
		t.Errorf("commands that were refused made %s: %v", state, err)
	}
}

// TestProfile: a profile from Storidge's files is added, shown, checked and removed.
func TestProfile(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	const storidge = "# ours\ncapacity: 20\niops: {max: 2000}\nlevel: 2\nservice: {snapshot: no}\n"
	var said transcript
	for _, tt := range []struct {
		stdin  string
		status int
		args   []string
	}{
		{"", exitDone, []string{"ls"}},
		{storidge, exitDone, []string{"add", "Web", "-"}},
		{storidge, exitUsage, []string{"add", "WEB", "-"}},
		{"", exitDone, []string{"show", "web"}},
		{"", exitDone, []string{"show", "web", "--normal"}},
		{"", exitDone, []string{"show", "web", "--json"}},
		{"", exitCannot, []string{"check", "web"}},
		{storidge + "optional: level\n", exitDone, []string{"add", "web", "-", "--replace", "--json"}},
		{"", exitDone, []string{"check", "web"}},
		{"", exitDone, []string{"check", "web", "--json"}},
		{"capacity: 5\n", exitDone, []string{"check", "-"}},
		{"", exitDone, []string{"ls"}},
		{"", exitDone, []string{"rm", "web"}},
	} {
		args := append([]string{"profile"}, tt.args...)
		r := plimsoll(t, t.Context(), state, tt.stdin, args...)
		if r.status != tt.status {
			t.Errorf("%q: status %d, want %d", args, r.status, tt.status)
		}
		said.add(args, r)
	}
	said.check(t, "profile.txt")

	var rows []struct {
		Name     string
		Capacity int64
		BuiltIn  bool `json:"built_in"`
	}
	mustDo(t, json.Unmarshal([]byte(plimsoll(t, t.Context(), state, "", "profile", "ls", "--json").stdout), &rows))
	if len(rows) != len(profile.BuiltIn()) || rows[0].Name != "BASIC" || rows[0].Capacity != 20e9 || !rows[0].BuiltIn {
		t.Errorf("profile ls --json: %+v", rows)
	}
	if r := plimsoll(t, t.Context(), state, "", "profile", "schema"); r != (result{exitDone, string(profile.Schema()), ""}) {
		t.Errorf("profile schema: %d, %.80q", r.status, r.stdout)
	}
	// A damaged profile hides no other.
	mustDo(t, os.WriteFile(filepath.Join(state, "profiles", "bad.yaml"), []byte("capacity: x\n"), 0o600))
	r := plimsoll(t, t.Context(), state, "", "profile", "ls")
	r.wantError(t, exitUsage, "bad.yaml:1:11: capacity")
	r.wantOutput(t, exitUsage, "GOLD")
}

// profileLine finds the examples about profiles, which need each other's files.
var profileLine = regexp.MustCompile(`^plimsoll profile\b`)

// TestManualProfiles executes the examples about profiles in the order of the manual, and removes profiles at the end.
func TestManualProfiles(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	lines := slices.DeleteFunc(examples(t), func(line string) bool { return !profileLine.MatchString(line) })
	slices.SortStableFunc(lines, func(a, b string) int {
		return strings.Count(a, "profile rm ") - strings.Count(b, "profile rm ")
	})
	if len(lines) < 10 {
		t.Errorf("only %d examples were found", len(lines))
	}
	t.Chdir(dir)
	for _, line := range lines {
		line, into, redirected := strings.Cut(line, " > ")
		stdin := ""
		if from, to, ok := strings.Cut(line, " | plimsoll "); ok {
			stdin, line = plimsoll(t, t.Context(), state, "", strings.Fields(from)[1:]...).stdout, "plimsoll "+to
		}
		r := plimsoll(t, t.Context(), state, stdin, strings.Fields(line)[1:]...)
		// Not each machine has NFS.
		if r.status != exitDone && !(r.status == exitCannot && strings.Contains(line, "nfs")) {
			t.Errorf("%s: status %d\n%s%s", line, r.status, r.stdout, r.stderr)
		}
		if redirected {
			mustDo(t, os.WriteFile(into, []byte(r.stdout), 0o600))
		}
	}
}
