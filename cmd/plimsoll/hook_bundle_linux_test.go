package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/limit/hook"
	"plimsoll/internal/testkit/texttest"
)

// TestHookBundle: a bundle that the hook can't be put into is noted in hook.log. With --best-effort the container starts without it,
// which was not reported.
func TestHookBundle(t *testing.T) {
	t.Parallel() // It waits most of the time, and its engine is its own.
	l := newHookLab(t, hookRules)
	bundle := t.TempDir()
	if err := os.WriteFile(filepath.Join(bundle, "config.json"), []byte("{\"hooks\": 5}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	// The runtime prints what it is run with.
	run := func(flags ...string) (stdout, stderr, log string, err error) {
		t.Helper()
		if err := os.RemoveAll(l.run); err != nil {
			t.Fatal(err)
		}
		args := append(append(l.hook()[1:], flags...), "--runtime", "echo", "--", "create", "--bundle", bundle, "web")
		cmd := exec.Command(l.program, args...)
		var out, talk strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &talk
		err = cmd.Run()
		b, logErr := os.ReadFile(filepath.Join(l.run, hook.Log))
		if logErr != nil && !errors.Is(logErr, os.ErrNotExist) {
			t.Fatal(logErr)
		}
		return out.String(), talk.String(), string(b), err
	}
	const why = "put the hook into the bundle: "
	stdout, stderr, log, err := run("--best-effort")
	if err != nil || stdout != "create --bundle "+bundle+" web\n" {
		t.Errorf("with --best-effort: %v, the runtime says %q", err, stdout)
	}
	for _, told := range []string{stderr, log} {
		if !strings.Contains(told, why) || !strings.Contains(told, bundle+"/config.json: hooks: ") {
			t.Errorf("with --best-effort %q doesn't say why", told)
		}
	}
	if !strings.Contains(stderr, "the container starts all the same: ") {
		t.Errorf("with --best-effort: %q", stderr)
	}
	stdout, stderr, log, err = run()
	if err == nil || stdout != "" {
		t.Errorf("without: %v, the runtime says %q; want an error and nothing", err, stdout)
	}
	texttest.Has(t, stderr, []string{why}, "without, plimsoll")
	texttest.Has(t, log, []string{why}, "without, the log")
	// Nothing is printed about a bundle that takes it.
	if err := os.WriteFile(filepath.Join(bundle, "config.json"), []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, log, err = run("--best-effort")
	if err != nil || stdout == "" {
		t.Errorf("a good bundle: %v, the runtime says %q", err, stdout)
	}
	if stderr != "" || log != "" {
		t.Errorf("a good bundle: plimsoll says %q, the log %q; want nothing", stderr, log)
	}
}
