package safety

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// wiredTigerRows is how many rows are committed before the writer is killed.
const wiredTigerRows = 100

// TestConfirmWiredTiger lets WiredTiger, MongoDB's storage engine, confirm what the check says of MongoDB: a writer commits rows with
// synced logs and is killed, and the next process recovers all of them. Meanwhile another that opens the same data must be kept out.
func TestConfirmWiredTiger(t *testing.T) {
	if os.Getenv("PLIMSOLL_CAMPAIGN") == "" {
		t.Skip("WiredTiger confirms with PLIMSOLL_CAMPAIGN=1")
	}
	keep := buildWiredTiger(t)
	eachSite(t, nil, nil, func(t *testing.T, o *opened) {
		ctx := hour(t)
		var tool program
		_, all := o.parties(ctx, t, func(dir string) { tool = copyProgram(t, dir, keep) })
		for i := 1; i < len(all); i++ {
			between := all[i].between
			confirmTries(t, o.harmless(t, "MongoDB", between), between, 1, func(n int) error {
				db := fmt.Sprintf("db-%d-%d", i, n)
				first := fmt.Sprintf(`$b mkdir %[1]s
%[2]s >%[1]s.rows & pid=$!
until [ "$($b tail -n 1 %[1]s.rows)" = %[4]d ]; do $b kill -0 $pid 2>/dev/null || { echo "the writer ends" >&2; exit 1; }; $b sleep 0.1; done
>%[1]s.serves
n=0
until [ -e %[1]s.tried ] || [ $n -ge 60 ]; do n=$((n + 1)); $b sleep 1; done
$b kill -9 $pid
wait $pid
got=$(%[3]s) || exit 1
[ "$got" = %[4]d ] || { echo "%[4]d rows were committed, and $got are there" >&2; exit 1; }`,
					db, all[0].call(tool, "write", db, fmt.Sprint(wiredTigerRows)), all[0].call(tool, "read", db), wiredTigerRows)
				second := fmt.Sprintf(`n=0
until [ -e %[1]s.serves ]; do n=$((n + 1)); [ $n -lt 600 ] || { echo "the writer does not come so far" >&2; exit 1; }; $b sleep 0.1; done
%[2]s >/dev/null 2>%[1]s.second
status=$?
>%[1]s.tried
if [ $status = 0 ]; then echo "two processes opened the same data" >&2; exit 1; fi
$b grep -q 'managed by another process' %[1]s.second || { $b tail -n 1 %[1]s.second >&2; exit 1; }`, db, all[i].call(tool, "read", db))
				return both(ctx, t, all[0], all[i], first, second)
			})
		}
	})
}

// buildWiredTiger links testdata/wiredtiger.c with the library that scripts/setup-wiredtiger builds. It skips the test if there is none.
func buildWiredTiger(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "plimsoll/wiredtiger-11.3.1")
	if _, err := os.Stat(filepath.Join(dir, "libwiredtiger.a")); err != nil {
		t.Skip("WiredTiger is needed: scripts/setup-wiredtiger builds it")
	}
	tool := filepath.Join(t.TempDir(), "wiredtiger")
	cmd := exec.CommandContext(t.Context(), "cc", "-O1", "-o", tool, "testdata/wiredtiger.c", "-I", dir, filepath.Join(dir, "libwiredtiger.a"), "-lpthread", "-ldl")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return tool
}
