package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// TestHookAgain: a bundle that is used again has the hook as it is asked for now, and no other of plimsoll's: the strict one went on
// ending starts, and one for another folder went on noting there. Others' hooks stay, also those that call plimsoll.
func TestHookAgain(t *testing.T) {
	t.Parallel() // It waits most of the time, and its engine is its own.
	l := newHookLab(t, hookRules)
	bundle := t.TempDir()
	file := filepath.Join(bundle, "config.json")
	others := []specs.Hook{
		{Path: "/usr/bin/other", Args: []string{"other"}},
		{Path: l.program, Args: l.hook()}, // Podman's, of its folder of hooks.
	}
	config, err := json.Marshal(specs.Spec{Hooks: &specs.Hooks{CreateRuntime: others}})
	mustDo(t, err)
	mustDo(t, os.WriteFile(file, config, 0o644))
	for _, flags := range []string{"--run /a", "--run /a --best-effort", "--run /b --best-effort", "--run /b --policy /p", "--run /b --policy /p"} {
		args := append(append(l.hook()[1:], strings.Fields(flags)...), "--runtime", "true", "--", "create", "--bundle", bundle, "web")
		cmd := exec.Command(l.program, args...)
		cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/"+flags[len(flags)-1:])
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", flags, err, out)
		}
		b, err := os.ReadFile(file)
		mustDo(t, err)
		var now specs.Spec
		mustDo(t, json.Unmarshal(b, &now))
		hooks := now.Hooks.CreateRuntime
		if len(hooks) != 3 || !slices.Equal(hooks[1].Args, others[1].Args) || hooks[0].Path != others[0].Path {
			t.Fatalf("%s: the hooks are %+v", flags, hooks)
		}
		got := strings.Join(hooks[2].Args, " ")
		if strings.Contains(got, "--best-effort") != strings.Contains(flags, "--best-effort") || !strings.Contains(got, "--run "+strings.Fields(flags)[1]) || strings.Contains(got, "--policy /p ") != strings.Contains(flags, "/p") {
			t.Errorf("%s: the hook is called as %q", flags, got)
		}
	}
}
