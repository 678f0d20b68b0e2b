package safety

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/workertest"
)

// A journal is how SQLite's writers keep their changes: the word of PRAGMA journal_mode. use is the check's name for it.
type journal struct{ mode, use string }

var (
	walJournal      = journal{"WAL", "SQLite, WAL mode"}
	rollbackJournal = journal{"DELETE", "SQLite, rollback journal"}
)

// database makes the database, which keeps the mode of its journal. Two that set it at once would be refused on any disk.
func (j journal) database() string {
	return "PRAGMA journal_mode=" + j.mode + "; CREATE TABLE t(who TEXT, n INTEGER);"
}

// begin is how each writer begins. It ends at its first error.
const begin = ".bail on\nPRAGMA busy_timeout=20000;\n"

// guestRows is how many rows each of the machine's writers commits, one by one. The host's writes until they have ended.
const guestRows = 150

// hardTries is how often two writers must lose nothing, and how often they may try until they do harm.
const hardTries = 3

// TestVMSQLite lets real SQLite confirm what the check says of a folder that the host and a virtual machine share. Where the
// check says yes, writers on both sides lose nothing. Where it says alone, two writers in the machine lose nothing, and writers
// on both sides lose rows, are refused or corrupt the database. Where it says no, two writers in the machine do, too.
func TestVMSQLite(t *testing.T) {
	type row struct {
		share, cache string
		journals     []journal
	}
	rows := []row{{vm.Share9P, "", []journal{walJournal}}, {vm.ShareVirtioFS, "", []journal{walJournal}}}
	if os.Getenv("PLIMSOLL_CAMPAIGN") != "" {
		both := []journal{walJournal, rollbackJournal}
		rows = []row{{vm.Share9P, "", both}, {vm.ShareVirtioFS, "none", both}, {vm.ShareVirtioFS, "auto", both}, {vm.ShareVirtioFS, "always", both}, {vm.ShareNFS, "", both}, {vm.ShareSMB, "", both}}
	}
	for _, row := range rows {
		t.Run(row.share+row.cache, func(t *testing.T) {
			e, dir := testMachine(t, row.share, row.cache), t.TempDir()
			spec := place.Spec{Name: "share", Kind: place.Bind, Path: dir}
			r, err := Check(t.Context(), Options{Engine: e, Host: host.New(t.TempDir(), workertest.Source(t)), Place: spec})
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range row.journals {
				confirmSQLite(t, e, spec, j, r.use(j.use))
			}
		})
	}
}

// confirmSQLite compares the check's answer with what SQLite does.
func confirmSQLite(t *testing.T, e engine.Engine, spec place.Spec, j journal, use Use) {
	t.Logf("the check: %s: %s", use.Safe, sentence(use))
	// A place whose disk can't be seen is safe apart from that.
	across := use.Safe == Yes || use.Safe == Unknown
	tries := hardTries
	for i := 1; i <= tries; i++ {
		err := writers(t, e, spec, j, true)
		t.Logf("%s, host and machine, try %d: %v", j.mode, i, err)
		switch {
		case across && err != nil:
			t.Errorf("the check says %s, and writers on both sides do harm: %v", use.Safe, err)
		case !across && err != nil:
			tries = 0 // Confirmed.
		case !across && i == tries:
			t.Errorf("the check says %s, and %d times two writers on both sides did no harm", use.Safe, i)
		}
	}
	if across || use.Safe == No && os.Getenv("PLIMSOLL_CAMPAIGN") == "" {
		return
	}
	err := writers(t, e, spec, j, false)
	t.Logf("%s, two in the machine: %v", j.mode, err)
	if (err == nil) != (use.Safe == Alone) {
		t.Errorf("the check says %s, and two writers in the machine: %v", use.Safe, err)
	}
}

// writers lets SQLite write in a machine: two at once, or one and another on the host. The error says what went wrong.
func writers(t *testing.T, e engine.Engine, spec place.Spec, j journal, beside bool) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	a, end := session(ctx, t, e, engine.Spec{Place: spec})
	defer end()
	dir, mounted := a.Info().HostPath, a.Hello.Dir
	sqlite, busybox := copyProgram(t, dir, "sqlite3"), copyProgram(t, dir, "busybox")
	writer := func(who string) string {
		var b strings.Builder
		b.WriteString(begin)
		for i := range guestRows {
			fmt.Fprintf(&b, "INSERT INTO t VALUES('%s',%d);\n", who, i)
		}
		if err := os.WriteFile(filepath.Join(dir, who+".sql"), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return quoted(sqlite.argv(mounted, mounted+"/db", ".read "+mounted+"/"+who+".sql"))
	}
	script, want := writer("first"), guestRows
	var stop func() (int, error)
	argv := sqlite.argv(dir, dir+"/db", j.database())
	if beside {
		if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		stop = hostWriter(ctx, t, sqlite.argv(dir, "-bail", dir+"/db"))
	} else {
		script = quoted(sqlite.argv(mounted, mounted+"/db", j.database())) + " || exit 1; " + script + " & other=$!; " + writer("second") + "; status=$?; wait $other && exit $status"
		want += guestRows
	}
	_, guest := run(ctx, t, a, shell(busybox, mounted, script))
	if beside {
		n, err := stop()
		if err != nil {
			return fmt.Errorf("the host's writer: %w", err)
		}
		want += n
	}
	if guest != nil {
		return fmt.Errorf("the machine's writer: %w", guest)
	}
	argv = sqlite.argv(dir, dir+"/db", "PRAGMA integrity_check; SELECT count(*) FROM t;")
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != fmt.Sprintf("ok\n%d", want) {
		return fmt.Errorf("%d rows were committed, and the database says: %s", want, lastLine(got))
	}
	return nil
}

// hostWriter starts a writer on the host, which commits rows one by one, with pauses in which the other gets the lock. stop ends
// it and returns how many it has committed.
func hostWriter(ctx context.Context, t *testing.T, argv []string) (stop func() (int, error)) {
	t.Helper()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done, rows := make(chan struct{}), 0
	var feeding sync.WaitGroup
	feeding.Go(func() {
		defer in.Close()
		_, err := io.WriteString(in, begin)
		for err == nil {
			select {
			case <-done:
				return
			case <-time.After(rand.N(4 * time.Millisecond)):
			}
			if _, err = fmt.Fprintf(in, "INSERT INTO t VALUES('host',%d);\n", rows); err == nil {
				rows++
			}
		}
	})
	var once sync.Once
	end := func() (n int, err error) {
		once.Do(func() {
			close(done)
			feeding.Wait()
			err = cmd.Wait()
		})
		if err != nil {
			err = fmt.Errorf("%w: %s", err, lastLine(said.String()))
		}
		return rows, err
	}
	t.Cleanup(func() { end() })
	return end
}

// lastLine is the last line of a text.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
