package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"plimsoll/internal/limit/hook"
	"plimsoll/internal/limit/keeper"
	"plimsoll/internal/testkit/texttest"
)

// TestHookStale: where the policy is faulty, hook.log says which was used in its place, and that no daemon has it in force.
func TestHookStale(t *testing.T) {
	dir, run := t.TempDir(), filepath.Join(t.TempDir(), "run")
	child := exec.Command("sleep", "1000")
	mustDo(t, child.Start())
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	policy := filepath.Join(dir, "policy.yaml")
	mustDo(t, os.Mkdir(run, 0o700))
	mustDo(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte("{}"), 0o600))
	mustDo(t, os.WriteFile(filepath.Join(run, keeper.LastGood), []byte("rules: []\n"), 0o600))
	state := fmt.Sprintf(`{"id":"x","bundle":%q,"pid":%d}`, dir, child.Process.Pid)
	for _, x := range []struct {
		policy string
		want   []string
	}{
		{"rules: 5\n", []string{"rules wants a list", "the last good policy is in force: " + filepath.Join(run, keeper.LastGood) + ", of ", "by a daemon that has ended"}},
		{"rules: []\n", nil},
	} {
		mustDo(t, os.WriteFile(policy, []byte(x.policy), 0o600))
		os.Remove(filepath.Join(run, hook.Log))
		r := plimsoll(t, t.Context(), dir, state, "limit", "hook", "--run", run, "--policy", policy)
		log, err := os.ReadFile(filepath.Join(run, hook.Log))
		if r.status != exitDone || (err == nil) != (x.want != nil) {
			t.Errorf("%q: status %d, %s, log: %v", x.policy, r.status, r.stderr, err)
		}
		texttest.Has(t, string(log), x.want, x.policy)
	}
}
