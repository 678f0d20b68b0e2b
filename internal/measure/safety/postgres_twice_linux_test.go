package safety

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestConfirmPostgreSQLTwice lets PostgreSQL confirm that two of its servers open the same data if their process ids are of two
// series, as in two containers, and that the second is refused if they are of one.
func TestConfirmPostgreSQLTwice(t *testing.T) {
	if os.Getenv("PLIMSOLL_CAMPAIGN") == "" {
		t.Skip("PostgreSQL confirms with PLIMSOLL_CAMPAIGN=1")
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	bin := postgresBin(t)
	owner, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal("PostgreSQL's package makes its user: ", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := roomyDisk(t)
	as := func(own bool, argv ...string) *exec.Cmd {
		full := append([]string{"setpriv", "--reuid=" + owner.Uid, "--regid=" + owner.Gid, "--clear-groups"}, argv...)
		if own { // A series of its own, in which it is the first, and its own shared memory, as in a container.
			full = append([]string{"unshare", "--pid", "--ipc", "--fork", "--kill-child"}, full...)
		}
		cmd := exec.CommandContext(ctx, full[0], full[1:]...)
		cmd.Dir = "/"
		return cmd
	}
	db := filepath.Join(dir, "db")
	// Another user passes through the test's own folders. The one that has them is everybody's, and stays as it is.
	for d := filepath.Dir(dir); d != filepath.Clean(os.TempDir()) && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(ctx, "install", "-d", "-o", owner.Uid, "-g", owner.Gid, db).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := as(false, bin+"/initdb", "-D", db, "--no-locale", "-E", "UTF8", "-A", "trust").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, own := range []bool{false, true} {
		first := as(own, bin+"/postgres", "--single", "-D", db, "postgres")
		in, err := first.StdinPipe()
		if err == nil {
			err = first.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		for lock := filepath.Join(db, "postmaster.pid"); ; time.Sleep(50 * time.Millisecond) {
			if st, err := os.Stat(lock); err == nil && st.Size() > 0 {
				break
			}
			if ctx.Err() != nil {
				t.Fatal("the first server does not start")
			}
		}
		second := as(own, bin+"/postgres", "--single", "-D", db, "postgres")
		second.Stdin = strings.NewReader("SELECT 1\n")
		out, err := second.CombinedOutput()
		in.Close()
		_ = first.Wait()
		t.Logf("with process ids of their own %v, the second server: %v: %s", own, err, lastLine(string(out)))
		if (err == nil) != own {
			t.Errorf("with process ids of their own %v, the second server: %v: %s", own, err, out)
		}
	}
}
