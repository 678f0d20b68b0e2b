package plimsoll_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLintWithoutGit: lint checks all files of a copy of the sources without git's folder, on a machine without git. A stand-in for
// go records its arguments.
func TestLintWithoutGit(t *testing.T) {
	for _, tt := range []struct {
		name, source string
		bad          bool
	}{
		{"formatted", "package a\n\nvar A = 1\n", false},
		{"not formatted", "package a\nvar  A = 1\n", true},
	} {
		tr := newTree(t, "Makefile")
		tr.write("a/a.go", tt.source)
		tr.write("docs/a b.md", "Text.\n")
		tr.write("out/old.go", "package  old\n")    // From an earlier run.
		tr.write(".cache/x.go", "package  cache\n") // Another program's.
		tr.stand("go", `printf '%s\n' "$*" >>calls`)
		for _, tool := range []string{"make", "bash", "sh", "find", "xargs", "gofmt"} {
			real, err := exec.LookPath(tool)
			if err != nil {
				t.Skipf("needs %s", tool)
			}
			if err := os.Symlink(real, filepath.Join(tr.bin, tool)); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "make", "lint")
		cmd.Path = filepath.Join(tr.bin, "make")
		cmd.Dir, cmd.Env = tr.dir, []string{"PATH=" + tr.bin, "HOME=" + tr.dir}
		// An input that never ends: a linter that gets no files, and so reads its input, hangs.
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.CombinedOutput()
		in.Close()
		if (err != nil) != tt.bad || strings.Contains(string(out), "./a/a.go") != tt.bad || ctx.Err() != nil {
			t.Errorf("%s: %v, want an error: %v\n%s", tt.name, err, tt.bad, out)
		}
		if strings.Contains(string(out), "old.go") || strings.Contains(string(out), ".cache") {
			t.Errorf("%s: files that are no sources take part:\n%s", tt.name, out)
		}
		if tt.bad {
			continue
		}
		calls, _ := os.ReadFile(filepath.Join(tr.dir, "calls"))
		_, last, ok := strings.Cut(string(calls), "misspell -error ")
		if !ok || !strings.Contains(last, "./a/a.go") || !strings.Contains(last, "./docs/a b.md") {
			t.Errorf("misspell was not called with the files:\n%s", calls)
		}
	}
}
