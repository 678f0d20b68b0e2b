package safety

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// lmdbRows is how many rows each writer stores, 100 with each mdb_load. lmdbSeed is how many are there before: more
// than a pipe holds, so that a reader can be made to wait.
const lmdbRows, lmdbSeed = 1000, 1000

// lmdb are LMDB's own tools in a place.
type lmdb struct{ load, dump, stat program }

// TestConfirmLMDB lets LMDB's own tools confirm what the check says of it: two writers and two readers beside each, among the
// processes of one side and on both sides. Where the check says yes, each row is there and can be read. Elsewhere they are
// refused, lose rows, or corrupt the database: in two containers because two readers have the same process id.
func TestConfirmLMDB(t *testing.T) {
	eachSite(t, []string{"mdb_load", "mdb_dump", "mdb_stat"}, nil, func(t *testing.T, o *opened) {
		ctx := hour(t)
		var tools lmdb
		data, all := o.parties(ctx, t, tools.install(t))
		for i := 1; i < len(all); i++ {
			between := all[i].between
			confirmTries(t, o.harmless(t, "LMDB", between), between, hardTries, func(n int) error {
				if o.container { // Where processes count from the beginning.
					data, all = o.parties(ctx, t, tools.install(t))
				}
				db := fmt.Sprintf("db-%d-%d", i, n)
				if _, err := all[0].run(ctx, t, all[0].call(tools.load, "-n", "-T", "-f", "seed", db)); err != nil {
					return err
				}
				if between == Containers {
					nextID(t, all[0], 1000)
					nextID(t, all[i], 1000)
				}
				if between == Sides {
					return tools.sameID(ctx, t, data, db, all[0])
				}
				defer os.Remove(filepath.Join(data, "done-first"))
				defer os.Remove(filepath.Join(data, "done-second"))
				if err := both(ctx, t, all[0], all[i], tools.side(all[0], db, "first"), tools.side(all[i], db, "second")); err != nil {
					return err
				}
				return tools.count(ctx, t, all[len(all)-1], db)
			})
		}
	})
}

// install copies the tools and what they store into a folder.
func (l *lmdb) install(t *testing.T) func(dir string) {
	return func(dir string) {
		l.load, l.dump, l.stat = copyProgram(t, dir, "mdb_load"), copyProgram(t, dir, "mdb_dump"), copyProgram(t, dir, "mdb_stat")
		rows := func(who string, count int) string {
			var b strings.Builder
			for i := range count {
				fmt.Fprintf(&b, "%s%05d\n%0100d\n", who, i, i)
			}
			return b.String()
		}
		write(t, filepath.Join(dir, "seed"), rows("seed", lmdbSeed))
		for _, who := range []string{"first", "second"} {
			for part := range lmdbRows / 100 {
				write(t, filepath.Join(dir, fmt.Sprint(who, part)), rows(fmt.Sprint(who, part), 100))
			}
		}
	}
}

// side is the script of one side: a reader that holds its transaction for a second, readers one after another, and a writer.
func (l *lmdb) side(p party, db, who string) string {
	pause := ""
	if p.agent == nil { // The host is quicker than a machine, and writes for as long.
		pause = "; $b sleep 0.3"
	}
	return "( set -o pipefail; " + p.call(l.dump, "-n", db) + " | ( $b sleep 1; $b cat >/dev/null ) ) & held=$!\n" +
		"( while $b [ ! -e done-" + who + " ]; do " + p.call(l.stat, "-n", db) + " >/dev/null || exit 1; done ) & reader=$!\n" +
		"status=0; part=0; while [ $part -lt " + fmt.Sprint(lmdbRows/100) + " ]; do " + p.call(l.load, "-n", "-T", "-f") + " " + who + "$part " + db + " || status=1\n" +
		"part=$((part + 1))" + pause + "; done\n>done-" + who + "\nwait $held && wait $reader && exit $status"
}

// count is an error if a database doesn't have the rows of both writers.
func (l *lmdb) count(ctx context.Context, t *testing.T, p party, db string) error {
	t.Helper()
	out, err := p.run(ctx, t, p.call(l.dump, "-n", "-p", db)+" | $b grep -c -E '^ (first|second)'")
	if err != nil {
		return fmt.Errorf("the rows can't be counted: %w", err)
	}
	if got := strings.TrimSpace(out); got != fmt.Sprint(2*lmdbRows) {
		return fmt.Errorf("%d rows were committed, and %s are there", 2*lmdbRows, got)
	}
	return nil
}

// sameID lets a reader on the host hold its transaction, and readers in a container begin theirs, one of them with the same process
// id.
func (l *lmdb) sameID(ctx context.Context, t *testing.T, data, db string, in party) error {
	t.Helper()
	argv := l.dump.argv(data, "-n", filepath.Join(data, db))
	reader := exec.CommandContext(ctx, argv[0], argv[1:]...)
	out, err := reader.StdoutPipe()
	if err == nil {
		err = reader.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = reader.Process.Kill()
		_ = reader.Wait()
	}()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	nextID(t, in, reader.Process.Pid-20)
	_, err = in.run(ctx, t, "for i in "+strings.Repeat("x ", 40)+"; do "+in.call(l.stat, "-n", db)+" >/dev/null || exit 1; done")
	return err
}

// nextID sets the id that the next process of a party's container gets.
func nextID(t *testing.T, p party, id int) {
	t.Helper()
	next := fmt.Sprintf("echo %d >/proc/sys/kernel/ns_last_pid", id-1)
	if said, err := exec.Command("nsenter", "-t", strconv.Itoa(p.agent.Info().PID), "-p", "sh", "-c", next).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
}

// confirmTries lets programs on both ends of a pair do their work: so many times without harm if the check says that it is
// safe, else with harm at the latest in the last of some tries.
func confirmTries(t *testing.T, safe bool, between Between, times int, try func(n int) error) {
	t.Helper()
	if !safe {
		times = hardTries
	} else if os.Getenv("PLIMSOLL_CAMPAIGN") == "" {
		times = 1
	}
	for n := range times {
		began := time.Now()
		err := try(n)
		t.Logf("between %s, try %d (%.1f s): %v", between, n+1, time.Since(began).Seconds(), err)
		switch {
		case safe && err != nil:
			t.Errorf("the check says that it is safe between %s: %v", between, err)
		case !safe && err == nil && n+1 == times:
			t.Errorf("the check says that it is not safe between %s, and %d tries did no harm", between, hardTries)
		case !safe && err != nil:
			return
		}
	}
}
