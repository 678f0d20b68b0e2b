package safety

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/testkit/workertest"
)

// testMachine makes the engine of virtual machines with one kind of share. It skips where package vm's tests do.
func testMachine(t *testing.T, share, cache string) engine.Engine {
	t.Helper()
	if os.Getenv("PLIMSOLL_TEST_VM") == "" {
		t.Skip("virtual machines are booted by make test-guest")
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	kernel := filepath.Join(dir, "plimsoll/guest/vmlinux")
	if _, err := os.Stat(kernel); err != nil {
		t.Skip("the tests' kernel is needed: scripts/guest fetches it")
	}
	return vm.New(vm.Options{
		State: t.TempDir(), Worker: workertest.Source(t), LookPath: exec.LookPath, Accel: vm.AccelTCG, Kernel: kernel, CPUs: 1, Share: share, ShareCache: cache,
	})
}

// Writers commit rows one by one, in WAL mode. The host's has more, so that it still writes when the machine's begins.
const (
	guestRows = 150
	hostRows  = 6000
	wal       = "PRAGMA journal_mode=WAL;\nPRAGMA busy_timeout=20000;\nCREATE TABLE IF NOT EXISTS t(who TEXT, n INTEGER);\n"
)

// script writes the script of a writer.
func script(t *testing.T, dir, who string, rows int) {
	t.Helper()
	var b strings.Builder
	b.WriteString(wal)
	for i := range rows {
		fmt.Fprintf(&b, "INSERT INTO t VALUES('%s',%d);\n", who, i)
	}
	if err := os.WriteFile(filepath.Join(dir, who+".sql"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// sqliteIn copies sqlite3 and its libraries into a folder and returns the arguments that run it there, wherever the folder is
// mounted.
func sqliteIn(t *testing.T, dir string) func(mounted string, args ...string) []string {
	t.Helper()
	path, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Fatal("scripts/setup installs it: ", err)
	}
	out, err := exec.Command("ldd", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	loader := ""
	files := []string{path}
	for _, word := range strings.Fields(string(out)) {
		if strings.HasPrefix(word, "/") {
			files = append(files, word)
			if strings.Contains(word, "ld-linux") {
				loader = filepath.Base(word)
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
	return func(mounted string, args ...string) []string {
		return append([]string{mounted + "/" + loader, "--library-path", mounted, mounted + "/sqlite3"}, args...)
	}
}

// TestVMSQLite lets real SQLite confirm what the check says of a folder that the host and a virtual machine share: where it is
// not safe, two writers lose rows, are refused or corrupt the database; one side alone does not.
func TestVMSQLite(t *testing.T) {
	for _, row := range []struct{ share, cache string }{{vm.Share9P, ""}, {vm.ShareVirtioFS, ""}} {
		t.Run(row.share+row.cache, func(t *testing.T) {
			e, dir := testMachine(t, row.share, row.cache), t.TempDir()
			spec := place.Spec{Name: "share", Kind: place.Bind, Path: dir}
			r, err := Check(t.Context(), Options{Engine: e, Host: host.New(t.TempDir(), workertest.Source(t)), Place: spec})
			if err != nil {
				t.Fatal(err)
			}
			use := r.Uses[slices.IndexFunc(r.Uses, func(u Use) bool { return strings.Contains(u.Name, "WAL") })]
			t.Logf("%s: %s", row.share, sentence(use))
			if use.Safe != No && use.Safe != Alone {
				t.Fatalf("%+v: the host and a virtual machine share no memory", use)
			}
			both := writers(t, e, spec, true)
			t.Logf("host and machine: %v", both)
			if both == nil {
				t.Errorf("the check says %s, and two writers of SQLite did no harm", use.Safe)
			}
			if use.Safe == Alone {
				if err := writers(t, e, spec, false); err != nil {
					t.Errorf("the check says that one side alone is safe: %v", err)
				}
			}
		})
	}
}

// writers lets SQLite write in a machine, and on the host at the same time if beside is set. The error says what went wrong.
func writers(t *testing.T, e engine.Engine, spec place.Spec, beside bool) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	s, err := e.Open(ctx, engine.Spec{ID: "sqlite-" + random(), Place: spec})
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.Open(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	dir := s.Info().HostPath
	run := sqliteIn(t, dir)
	mounted := a.Hello.Dir
	script(t, dir, "guest", guestRows)
	script(t, dir, "host", hostRows)
	command := workload.Spec{Name: "sqlite", Kind: workload.Command, Command: &workload.CommandSpec{Argv: run(mounted, mounted+"/db", ".read "+mounted+"/guest.sql")}}
	ended := make(chan error, 1)
	ended <- nil
	if beside {
		<-ended
		go func() {
			argv := run(dir, dir+"/db", ".read "+dir+"/host.sql")
			out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
			switch {
			case err != nil:
				err = fmt.Errorf("the host's writer: %w: %s", err, lastLine(string(out)))
			case strings.Contains(string(out), "rror"):
				err = fmt.Errorf("the host's writer: %s", lastLine(string(out)))
			}
			ended <- err
		}()
	}
	if err := a.Prepare(ctx, "1", command); err != nil {
		t.Fatal(err)
	}
	if err := a.Start("1"); err != nil {
		t.Fatal(err)
	}
	_, guest := a.Wait(ctx, "1", nil)
	if guest != nil {
		guest = fmt.Errorf("the machine's writer: %w", guest)
	}
	if err := <-ended; err != nil {
		return err
	}
	if guest != nil {
		return guest
	}
	argv := run(dir, dir+"/db", "PRAGMA integrity_check; SELECT count(*) FROM t;")
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	want := guestRows
	if beside {
		want += hostRows
	}
	if got := strings.TrimSpace(string(out)); err != nil || got != fmt.Sprintf("ok\n%d", want) {
		return fmt.Errorf("%d rows were committed, and the database says: %s", want, lastLine(got))
	}
	return nil
}

// lastLine is the last line of a text.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
