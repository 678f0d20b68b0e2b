package safety

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/engine/oci"
	"plimsoll/internal/measure/engine/vm"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/measure/step"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/workertest"
)

// postgresBin finds PostgreSQL's programs, which Debian keeps outside of PATH. It skips the test if there are none.
func postgresBin(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_test_fsync")
	if len(found) == 0 {
		t.Skip("PostgreSQL is needed: scripts/setup guest installs it")
	}
	return filepath.Dir(found[len(found)-1])
}

// rateLine is pg_test_fsync's line of a method: "fdatasync    937.531 ops/sec    1067 usecs/op".
var rateLine = regexp.MustCompile(`(?m)^ +(fdatasync|fsync)( +([0-9.]+) ops/sec +([0-9]+) usecs/op)`)

// A syncRate is what pg_test_fsync says of fdatasync and fsync: how many it made, how many flushes the disk counted meanwhile,
// and how long the quicker fdatasyncs took.
type syncRate struct {
	syncs, flushes int64
	each           time.Duration
}

// testFsync runs pg_test_fsync in a folder, a second for each method.
func testFsync(t *testing.T, bin, dir, disk string) syncRate {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "pg_test_fsync"), "-s", "1", "-f", filepath.Join(dir, "pg"))
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// It prints a method's name before it begins, and its rate with the next name. Other methods flush, too (O_DSYNC).
	var text []byte
	var flushes []int64 // as each byte of text came
	for b := make([]byte, 4096); err == nil; {
		var n int
		n, err = pipe.Read(b)
		text = append(text, b[:n]...)
		flushes = append(flushes, slices.Repeat([]int64{disktest.Count(t, disk).Flushes}, n)...)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("pg_test_fsync: %v: %s", err, text)
	}
	r := syncRate{each: time.Hour}
	for _, m := range rateLine.FindAllSubmatchIndex(text, -1) {
		word := func(i int) string { return string(text[m[2*i]:m[2*i+1]]) }
		rate, _ := strconv.ParseFloat(word(3), 64)
		each, _ := strconv.Atoi(word(4))
		r.syncs += int64(rate)
		r.flushes += flushes[m[5]-1] - flushes[m[3]-1]
		if word(1) == "fdatasync" {
			r.each = min(r.each, time.Duration(each)*time.Microsecond)
		}
	}
	if r.syncs == 0 {
		t.Fatalf("pg_test_fsync prints no rates: %s", text)
	}
	return r
}

// TestConfirmSyncs lets PostgreSQL's pg_test_fsync confirm what the check says of syncs. Where they reach the disk, the disk
// counts a flush for each, and an fdatasync takes about as long as the check's own. Where they don't, the disk counts next to
// none.
func TestConfirmSyncs(t *testing.T) {
	if os.Getenv("PLIMSOLL_CAMPAIGN") == "" {
		t.Skip("pg_test_fsync confirms with PLIMSOLL_CAMPAIGN=1")
	}
	bin := postgresBin(t)
	for _, row := range []struct {
		name, mount string
		// above makes the place on the disk; nil: the disk itself is the place.
		above func(t *testing.T, dir string) string
		want  Answer
	}{
		{"disk", "", nil, Yes},
		{"served", "", func(t *testing.T, dir string) string { return disktest.BindFS(t, dir, false) }, Yes},
		{"nobarrier", "nobarrier", nil, No},
		{"served without syncs", "", func(t *testing.T, dir string) string { return disktest.BindFS(t, dir, true) }, No},
		{"tmpfs", "", func(t *testing.T, _ string) string { return disktest.Tmpfs(t, "size=64m") }, No},
	} {
		t.Run(row.name, func(t *testing.T) {
			disk, dir := disktest.Disk(t, disktest.Options{Direct: true, Mount: row.mount, Size: 128 << 20})
			if row.above != nil {
				dir = row.above(t, dir)
			}
			var f Finding
			for range 5 { // Other programs may flush the machine's disk, too.
				if f = checked(t, dir).find("fsync"); f.Answer != Unknown {
					break
				}
			}
			if f.Answer != row.want {
				t.Fatalf("the check says %s, %q; want %s", f.Answer, f.Detail, row.want)
			}
			// The machine's speed changes while others use its disk.
			for i := 1; ; i++ {
				own := ownSync(t, dir)
				rate := testFsync(t, bin, dir, disk)
				t.Logf("the check: %s (%s), %v; PostgreSQL: %v, %d syncs, %d flushes of the disk", f.Answer, f.Detail, own, rate.each, rate.syncs, rate.flushes)
				if f.Answer == No {
					if rate.flushes > rate.syncs/10 {
						t.Errorf("the check says %s, and %d syncs caused %d flushes", f.Answer, rate.syncs, rate.flushes)
					}
					return
				}
				if rate.flushes < rate.syncs*8/10 {
					t.Errorf("the check says %s, and %d syncs caused only %d flushes", f.Answer, rate.syncs, rate.flushes)
				}
				// The check appends, as etcd does, so that the file system's journal is written, too. PostgreSQL overwrites.
				if rate.each < 3*own && own < 10*rate.each {
					return
				}
				if i == 5 {
					t.Errorf("half of the check's fdatasyncs take %v at most, and PostgreSQL's %v each", own, rate.each)
					return
				}
			}
		})
	}
}

// ownSync is the median of the check's fdatasyncs.
func ownSync(t *testing.T, dir string) time.Duration {
	t.Helper()
	a, end := session(t.Context(), t, host.New(t.TempDir(), workertest.Source(t)), engine.Spec{Place: place.Spec{Name: "it", Kind: place.Dir, Path: dir}})
	defer end()
	c := &checker{ctx: t.Context(), main: side{a, 0}}
	got, err := c.do(c.main, step.Call{Op: step.Sync, Path: "wal", How: "fdatasync", Count: 200, Wait: 3 * time.Second})
	if err != nil || !got.OK() {
		t.Fatal(err, got.Error)
	}
	slices.Sort(got.Times)
	return got.Times[len(got.Times)/2]
}

// TestConfirmPostgreSQL lets PostgreSQL's initdb and a server without connections confirm what the check says of it: on a disk,
// in a container's folder and, by one side alone, in one that the host and a virtual machine share. As in PostgreSQL's
// container, root gives the folder to the user postgres first.
func TestConfirmPostgreSQL(t *testing.T) {
	if os.Getenv("PLIMSOLL_CAMPAIGN") == "" {
		t.Skip("PostgreSQL confirms with PLIMSOLL_CAMPAIGN=1")
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	needProgram(t, "busybox")
	bin := postgresBin(t)
	machine := func(share, cache string) func(*testing.T) engine.Engine {
		return func(t *testing.T) engine.Engine {
			e := testMachine(t, share, cache)
			e.(*vm.Engine).Memory = 512 << 20
			return e
		}
	}
	local := func(t *testing.T) engine.Engine { return host.New(t.TempDir(), workertest.Source(t)) }
	for _, row := range []struct {
		name   string
		kind   place.Kind
		engine func(*testing.T) engine.Engine
	}{
		{"ext4", place.Dir, local},
		{"container", place.Bind, func(t *testing.T) engine.Engine { return oci.New(t.TempDir(), workertest.Source(t), exec.LookPath) }},
		{"9p", place.Bind, machine(vm.Share9P, "")},
		{"virtiofs none", place.Bind, machine(vm.ShareVirtioFS, "none")},
		{"virtiofs auto", place.Bind, machine(vm.ShareVirtioFS, "auto")},
		{"virtiofs always", place.Bind, machine(vm.ShareVirtioFS, "always")},
		{"nfs", place.Bind, machine(vm.ShareNFS, "")},
		{"smb", place.Bind, machine(vm.ShareSMB, "")},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, spec := row.engine(t), place.Spec{Name: "it", Kind: row.kind, Path: t.TempDir()}
			r, err := Check(t.Context(), Options{Engine: e, Host: local(t), Place: spec})
			if err != nil {
				t.Fatal(err)
			}
			use := r.use("PostgreSQL")
			began := time.Now()
			err = postgres(t, e, spec, bin)
			t.Logf("the check: %s: %s; PostgreSQL, after %.0f s: %v", use.Safe, sentence(use), time.Since(began).Seconds(), err)
			if (err != nil) != (use.Safe == No) {
				t.Errorf("the check says %s, and PostgreSQL: %v", use.Safe, err)
			}
		})
	}
}

// postgres makes a database of PostgreSQL in a place, writes to it, and reads it with another server. The error says what failed.
func postgres(t *testing.T, e engine.Engine, spec place.Spec, bin string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	a, end := session(ctx, t, e, engine.Spec{Place: spec})
	defer end()
	dir := a.Info().HostPath
	busybox := copyProgram(t, dir, "busybox")
	owner := postgresRoot(t, filepath.Join(dir, "root"), bin)
	b, root := quoted(busybox.argv(a.Hello.Dir)), a.Hello.Dir+"/root"
	as := fmt.Sprintf("%s chroot %s /usr/bin/setpriv --reuid=%s --regid=%s --clear-groups %s/", b, root, owner.Uid, owner.Gid, bin)
	server := as + "postgres --single -D /data/db postgres"
	script := strings.Join([]string{
		// Not in a container, which may not mount, and has the devices of the tree.
		"if [ $$ != 1 ] && " + b + " mount -t devtmpfs dev " + root + "/dev 2>/dev/null; then " + b + " mkdir -p " + root + "/dev/shm; fi",
		b + " mkdir " + root + "/data/db || exit 1",
		b + " chown " + owner.Uid + ":" + owner.Gid + " " + root + "/data/db || exit 1",
		as + "initdb -D /data/db --no-locale -E UTF8 -A trust || exit 1",
		b + " printf 'CREATE TABLE t(n int)\\nINSERT INTO t SELECT generate_series(1,1000)\\nCHECKPOINT\\n' | " + server + " || exit 1",
		b + " printf 'SELECT count(*) FROM t\\n' | " + server,
	}, "\n")
	got, err := run(ctx, t, a, shell(busybox, a.Hello.Dir, script))
	if e.Name() == "host" {
		_ = unix.Unmount(root+"/dev", 0)
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, got.Stderr)
	}
	if !strings.Contains(got.Stdout, `count = "1000"`) {
		return errors.New("the rows can't be read: " + got.Stdout)
	}
	return nil
}

// postgresRoot makes a root folder in which PostgreSQL's programs run, and returns its user. It has no links: not all shares
// have them.
func postgresRoot(t *testing.T, root, bin string) *user.User {
	t.Helper()
	owner, err := user.Lookup("postgres")
	if err != nil {
		t.Fatal("PostgreSQL's package makes its user: ", err)
	}
	for _, d := range []string{"bin", "usr/bin", "etc", "dev/shm", "proc", "tmp", "data"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(root, 0o755), os.Chmod(filepath.Join(root, "tmp"), 0o777), os.Chmod(filepath.Join(root, "dev/shm"), 0o777)); err != nil {
		t.Fatal(err)
	}
	entry := fmt.Sprintf("root:x:0:0::/:/bin/sh\npostgres:x:%s:%s::/:/bin/sh\n", owner.Uid, owner.Gid)
	if err := os.WriteFile(filepath.Join(root, "etc/passwd"), []byte(entry), 0o644); err != nil {
		t.Fatal(err)
	}
	for i, device := range []string{"null", "urandom"} {
		if err := unix.Mknod(filepath.Join(root, "dev", device), unix.S_IFCHR|0o666, int(unix.Mkdev(1, []uint32{3, 9}[i]))); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(root, "dev", device), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	copyAs := func(from, to string) {
		b, err := os.ReadFile(from)
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(root, to)), 0o755), os.WriteFile(filepath.Join(root, to), b, 0o755))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal("scripts/setup guest installs it: ", err)
	}
	copyAs(busybox, "/bin/sh")
	for _, program := range []string{"/usr/bin/setpriv", bin + "/initdb", bin + "/postgres"} {
		copyAs(program, program)
		out, err := exec.Command("ldd", program).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range strings.Fields(string(out)) {
			if strings.HasPrefix(word, "/") {
				copyAs(word, word)
			}
		}
	}
	version := filepath.Base(filepath.Dir(bin))
	for _, tree := range []string{filepath.Join(filepath.Dir(bin), "lib/*.so"), "/usr/share/postgresql/" + version + "/*", "/usr/share/postgresql/" + version + "/*/*"} {
		files, _ := filepath.Glob(tree)
		for _, f := range files {
			if st, err := os.Stat(f); err == nil && st.Mode().IsRegular() {
				copyAs(f, f)
			}
		}
	}
	return owner
}
