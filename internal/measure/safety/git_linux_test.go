package safety

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/engine/oci"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/workertest"
)

// TestConfirmGit lets real git confirm what the check says of it, by one side alone: commits while another process asks for the
// status, as an editor does, and one while another has the index open. It also edits a file right after git has read it, without
// a change of its size: that must be noticed, however coarse modification times are.
func TestConfirmGit(t *testing.T) {
	if os.Getenv("PLIMSOLL_CAMPAIGN") == "" {
		t.Skip("git confirms with PLIMSOLL_CAMPAIGN=1")
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	needProgram(t, "busybox")
	machine := func(share string) func(*testing.T) engine.Engine {
		return func(t *testing.T) engine.Engine { return testMachine(t, share, "") }
	}
	for _, row := range []struct {
		name   string
		engine func(*testing.T) engine.Engine
	}{
		{"container", func(t *testing.T) engine.Engine { return oci.New(t.TempDir(), workertest.Source(t), exec.LookPath) }},
		{"9p", machine(vm.Share9P)},
		{"nfs", machine(vm.ShareNFS)},
		{"smb", machine(vm.ShareSMB)},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, spec := row.engine(t), place.Spec{Name: "it", Kind: place.Bind, Path: t.TempDir()}
			r, err := Check(t.Context(), Options{Engine: e, Host: host.New(t.TempDir(), workertest.Source(t)), Place: spec})
			if err != nil {
				t.Fatal(err)
			}
			use := r.use("git")
			t.Logf("the check: %s: %s; times: %s", use.Safe, sentence(use), r.find("mtime-ns").Detail)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			a, _ := session(ctx, t, e, engine.Spec{Place: spec})
			dir, mounted := a.Info().HostPath, a.Hello.Dir
			busybox, git := copyProgram(t, dir, "busybox"), copyProgram(t, dir, "git")
			g := quoted(git.argv(mounted, "-c", "user.name=x", "-c", "user.email=x", "-c", "maintenance.auto=false", "-c", "gc.auto=0", "-c", "safe.directory=*"))
			b := quoted(busybox.argv(mounted))
			// git has no programs of its own beside it, so it must not look for work after a commit.
			script := strings.Join([]string{
				"cd " + mounted, b + " mkdir repo; cd repo", g + " init -q . || exit 1",
				"( while [ ! -e ../done ]; do " + g + " --no-optional-locks status --porcelain >../status || { echo status fails >&2; exit 1; }; done ) & reader=$!",
				"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do",
				"  echo a$i >file; " + g + " add file && " + g + " commit -q -m $i || { echo >../done; echo commit fails >&2; exit 1; }",
				"  echo b$i >file; [ \"$(" + g + " diff-files --name-only)\" = file ] || echo unnoticed $i",
				"done", "echo >../done", "wait $reader || exit 1",
				"( " + b + " sleep 5 <.git/index ) & " + b + " sleep 1",
				"echo c >file; " + g + " commit -q -a -m open || exit 1",
				"[ \"$(" + g + " rev-list --count HEAD)\" = 21 ]",
			}, "\n")
			end, err := run(ctx, t, a, shell(busybox, mounted, script))
			t.Logf("git: %v: %s%s", err, end.Stdout, end.Stderr)
			if (err != nil) != (use.Safe == No) {
				t.Errorf("the check says %s, and git: %v", use.Safe, err)
			}
			if strings.Contains(end.Stdout, "unnoticed") {
				t.Errorf("edits go unnoticed: %s", end.Stdout)
			}
		})
	}
}
