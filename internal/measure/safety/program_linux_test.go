package safety

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/workload"
)

// A program is a program of this machine that was copied into a place, with its libraries: the machines and containers of the
// tests have none.
type program struct {
	name string
	// loader is the program that loads it, empty if it is static.
	loader string
}

// copyProgram copies a program of this machine and its libraries into a folder.
func copyProgram(t *testing.T, dir, name string) program {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal("scripts/setup guest installs it: ", err)
	}
	p := program{name: filepath.Base(path)}
	files := []string{path}
	out, _ := exec.Command("ldd", path).Output() // It fails for a static program.
	for _, word := range strings.Fields(string(out)) {
		if strings.HasPrefix(word, "/") {
			files = append(files, word)
			if strings.Contains(word, "ld-linux") {
				p.loader = filepath.Base(word)
			}
		}
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(f)), b, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// argv are the arguments that run it where its folder is mounted.
func (p program) argv(mounted string, args ...string) []string {
	argv := []string{mounted + "/" + p.name}
	if p.loader != "" {
		argv = []string{mounted + "/" + p.loader, "--library-path", mounted, mounted + "/" + p.name}
	}
	return append(argv, args...)
}

// shell are the arguments that run a script with the shell of busybox, whose folder is mounted there.
func shell(busybox program, mounted, script string) []string {
	return busybox.argv(mounted, "sh", "-c", script)
}

// quoted is a command as a shell reads it.
func quoted(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

// session opens a session in a place, and closes it at the end of the test at the latest. close may be called before.
func session(ctx context.Context, t *testing.T, e engine.Engine, spec engine.Spec) (a *agent.Agent, close func()) {
	t.Helper()
	spec.ID = "confirm-" + random()
	s, err := e.Open(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	if a, err = agent.Open(ctx, s); err != nil {
		t.Fatal(err, s.Close(context.Background()))
	}
	open := true
	close = func() {
		if !open {
			return
		}
		open = false
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := a.Close(ctx); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(close)
	return a, close
}

// run runs a command in a session. The error has its last words.
func run(ctx context.Context, t *testing.T, a *agent.Agent, argv []string) (workload.CommandEnd, error) {
	t.Helper()
	id := random()
	command := workload.Spec{Name: "confirm", Kind: workload.Command, Command: &workload.CommandSpec{Argv: argv, Output: workload.MaxOutput}}
	if err := a.Prepare(ctx, id, command); err != nil {
		t.Fatal(err)
	}
	if err := a.Start(id); err != nil {
		t.Fatal(err)
	}
	r, err := a.Wait(ctx, id, nil)
	if failed, ok := errors.AsType[*agent.TrialError](err); ok && failed.Command != nil {
		return *failed.Command, err
	}
	if err != nil {
		return workload.CommandEnd{}, err
	}
	return *r.Command, nil
}
