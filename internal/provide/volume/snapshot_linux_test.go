package volume

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	_ "modernc.org/sqlite"

	"plimsoll/internal/provide/profile"
	"plimsoll/internal/provide/volume/image"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/killtest"
	"plimsoll/internal/testkit/leaktest"
	"plimsoll/internal/text/refusal"
)

// volumesOn makes a state folder on a file system of a kind, for volumes that are unmounted at the end.
func volumesOn(t testing.TB, kind string) *Volumes {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	_, dir := disktest.Disk(t, disktest.Options{Kind: kind, Size: 2 << 30, Memory: true})
	s := New(filepath.Join(dir, "state"))
	t.Cleanup(func() {
		list, err := s.List()
		for _, v := range list {
			err = errors.Join(err, s.closeView(context.Background(), v), local{}.unmount(context.Background(), v))
		}
		if err != nil {
			t.Error(err)
		}
		for _, what := range leaktest.Find(dir + "/") {
			if strings.HasPrefix(what, "loop device") {
				t.Errorf("left: %s", what)
			}
		}
	})
	return s
}

// made makes a volume with options.
func made(t testing.TB, s *Volumes, name string, options ...string) Volume {
	t.Helper()
	all := map[string]string{"capacity": "128MiB"}
	for _, o := range options {
		k, v, _ := strings.Cut(o, "=")
		all[k] = v
	}
	backend, p, err := s.Options(all)
	must(t, err)
	v, _, err := s.Create(t.Context(), name, backend, p)
	must(t, err)
	return v
}

// mounted mounts a volume by hand, and returns its root.
func mounted(t testing.TB, s *Volumes, name string) string {
	t.Helper()
	m, err := s.Mount(t.Context(), name, ByHand)
	must(t, err)
	return m.Root
}

func unmounted(t testing.TB, s *Volumes, name string) {
	t.Helper()
	must(t, s.Unmount(t.Context(), name, ByHand))
}

func write(t testing.TB, root, name, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
}

func holds(t testing.TB, root, name, text string) {
	t.Helper()
	if b, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(b) != text {
		t.Errorf("%s holds %.40q, %v; want %q", name, b, err, text)
	}
}

// sizes are the least capacities of each file system, a little rounded.
var sizes = map[string]string{profile.Ext4: "64MiB", profile.XFS: "320MiB", profile.Btrfs: "128MiB"}

// TestSnapshots takes, lists, restores, clones and removes snapshots of each file system, on disks that share blocks and one that doesn't.
func TestSnapshots(t *testing.T) {
	for _, on := range []string{"xfs", "btrfs"} {
		for fs, size := range sizes {
			t.Run(fs+"_on_"+on, func(t *testing.T) {
				t.Parallel()
				s := volumesOn(t, on)
				made(t, s, "db", "filesystem="+fs, "capacity="+size)
				snapshots(t, s)
			})
		}
	}
	t.Run("btrfs_on_ext4", func(t *testing.T) {
		t.Parallel()
		s := volumesOn(t, "ext4")
		made(t, s, "db", "filesystem=btrfs")
		root := mounted(t, s, "db")
		write(t, root, "f", "one")
		p, err := s.Snapshot(t.Context(), "db", SnapshotOptions{})
		must(t, err)
		if _, err := s.CloneSnapshot(t.Context(), "db", p.ID, "copy", image.SnapshotOptions{}); !errors.Is(err, refusal.ErrRefused) {
			t.Errorf("a clone without reflinks: %v", err)
		}
		_, err = s.CloneSnapshot(t.Context(), "db", p.ID, "copy", image.SnapshotOptions{Copy: true})
		must(t, err)
		holds(t, mounted(t, s, "copy"), "f", "one")
	})
	t.Run("ext4_on_ext4", func(t *testing.T) {
		t.Parallel()
		s := volumesOn(t, "ext4")
		made(t, s, "db")
		write(t, mounted(t, s, "db"), "f", "one")
		_, err := s.Snapshot(t.Context(), "db", SnapshotOptions{})
		if !errors.Is(err, refusal.ErrRefused) || !strings.Contains(err.Error(), "use --copy") {
			t.Errorf("a snapshot without reflinks: %v", err)
		}
		if v, err := s.Get("db"); err != nil || len(v.Snapshots) > 0 {
			t.Errorf("the refused snapshot left %+v, %v", v.Snapshots, err)
		}
		p, err := s.Snapshot(t.Context(), "db", SnapshotOptions{Copy: true})
		must(t, err)
		write(t, mounted(t, s, "db"), "f", "two")
		unmounted(t, s, "db")
		_, err = s.RestoreSnapshot(t.Context(), "db", p.ID, false)
		must(t, err)
		holds(t, mounted(t, s, "db"), "f", "one")
	})
}

func snapshots(t *testing.T, s *Volumes) {
	ctx := t.Context()
	root := mounted(t, s, "db")
	write(t, root, "f", "one")
	one, err := s.Snapshot(ctx, "db", SnapshotOptions{Description: "the first"})
	must(t, err)
	write(t, root, "f", "two")
	two, err := s.Snapshot(ctx, "db", SnapshotOptions{})
	must(t, err)
	write(t, root, "f", "three")
	if one.ID == two.ID {
		t.Errorf("both snapshots are %s", one.ID)
	}
	if _, err := s.RestoreSnapshot(ctx, "db", one.ID, false); err == nil || !strings.Contains(err.Error(), "mounted by hand") {
		t.Errorf("a restore of a mounted volume: %v", err)
	}
	if _, err := s.RestoreSnapshot(ctx, "db", "2020", false); err == nil || !strings.Contains(err.Error(), `no snapshot "2020"`) {
		t.Errorf("a restore of an unknown snapshot: %v", err)
	}
	// A clone is a volume of its own, beside the original.
	_, err = s.CloneSnapshot(ctx, "db", two.ID, "copy", image.SnapshotOptions{})
	must(t, err)
	holds(t, mounted(t, s, "copy"), "f", "two")
	unmounted(t, s, "db")
	// It has grown since: so does what is restored.
	_, err = s.Update(ctx, "db", map[string]string{"capacity": "512MiB"})
	must(t, err)
	before, err := s.RestoreSnapshot(ctx, "db", one.ID, false)
	must(t, err)
	root = mounted(t, s, "db")
	holds(t, root, "f", "one")
	v, err := s.Get("db")
	must(t, err)
	if space, err := s.Space(v); err != nil || space.Size < 400<<20 {
		t.Errorf("after the restore it has %+v, %v", space, err)
	}
	unmounted(t, s, "db")
	_, err = s.RestoreSnapshot(ctx, "db", before.ID, true)
	must(t, err)
	holds(t, mounted(t, s, "db"), "f", "three")
	for _, p := range []Snapshot{one, two, before} {
		must(t, s.RemoveSnapshot(ctx, "db", p.ID))
	}
	v, err = s.Get("db")
	if files, _ := os.ReadDir(filepath.Join(v.Folder, "snapshots")); err != nil || len(v.Snapshots)+len(files) > 0 {
		t.Errorf("left: %+v, %v; %v", v.Snapshots, files, err)
	}
	// A view has the content of its time.
	root = mounted(t, s, "db")
	w, err := s.View(ctx, "db", "")
	must(t, err)
	if _, err := s.View(ctx, "db", ""); !errors.Is(err, ErrViewed) {
		t.Errorf("a second view: %v", err)
	}
	write(t, root, "f", "four")
	holds(t, w.Root, "f", "three")
	if err := os.WriteFile(filepath.Join(w.Root, "g"), nil, 0o600); err == nil {
		t.Error("a view can be written to")
	}
	if w.Note != "" {
		t.Errorf("the view's note: %s", w.Note)
	}
	must(t, w.Close())
	unmounted(t, s, "db")
	unmounted(t, s, "copy")
	must(t, s.Remove(ctx, "copy", true))
}

const lifeOfWriter = "writer"

func init() { killtest.Life(lifeOfWriter, liveWriter) }

// liveWriter inserts rows into a database in a folder until it is killed, and prints how many it has committed. It is a process of its own: SQLite maps a
// file, and a fault in a frozen file system would hold up the process that has to thaw it.
func liveWriter(dir string) error {
	db, err := sql.Open("sqlite", filepath.Join(dir, "db"))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t (n INTEGER PRIMARY KEY, s TEXT)"); err != nil {
		return err
	}
	for n := 1; ; n++ {
		if _, err := db.Exec("INSERT INTO t VALUES (?, ?)", n, strings.Repeat("x", 3000)); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// TestSnapshotOfDatabase takes snapshots while SQLite writes: in each the database is whole and has all that was committed before.
func TestSnapshotOfDatabase(t *testing.T) {
	for fs := range sizes {
		t.Run(fs, func(t *testing.T) {
			t.Parallel()
			s := volumesOn(t, "xfs")
			made(t, s, "db", "filesystem="+fs, "capacity=512MiB")
			writer := killtest.Command(lifeOfWriter, mounted(t, s, "db"))
			out, err := writer.StdoutPipe()
			must(t, err)
			must(t, writer.Start())
			stop := sync.OnceFunc(func() {
				writer.Process.Kill()
				writer.Wait()
			})
			defer stop()
			var committed atomic.Int64
			go func() {
				for lines := bufio.NewScanner(out); lines.Scan(); {
					n, _ := strconv.ParseInt(lines.Text(), 10, 64)
					committed.Store(n)
				}
			}()
			for i := range 3 {
				for before := committed.Load(); committed.Load() < before+2; {
					time.Sleep(time.Millisecond)
				}
				least := committed.Load()
				p, err := s.Snapshot(t.Context(), "db", SnapshotOptions{})
				must(t, err)
				name := fmt.Sprint("c", i)
				_, err = s.CloneSnapshot(t.Context(), "db", p.ID, name, image.SnapshotOptions{})
				must(t, err)
				// Its database is opened while nothing is frozen.
				copied := open(t, filepath.Join(mounted(t, s, name), "db"))
				var verdict string
				var rows int64
				must(t, copied.QueryRow("PRAGMA integrity_check").Scan(&verdict))
				must(t, copied.QueryRow("SELECT count(*) FROM t").Scan(&rows))
				if verdict != "ok" || rows < least {
					t.Errorf("snapshot %s: %s, %d rows of %d", p.ID, verdict, rows, least)
				}
				must(t, copied.Close())
			}
			stop()
		})
	}
}

func open(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

// TestHooks: a failing hook before stops the snapshot, the one after runs in any case, both in time.
func TestHooks(t *testing.T) {
	t.Parallel()
	s := volumesOn(t, "xfs")
	made(t, s, "db")
	note := filepath.Join(t.TempDir(), "note")
	say := "echo $PLIMSOLL_HOOK of $PLIMSOLL_VOLUME >>" + note
	for _, c := range []struct {
		hooks Hooks
		want  string
		taken int
	}{
		{Hooks{Before: "echo no database >&2; exit 3", After: say}, "the hook before the snapshot of volume db: exit status 3: no database", 0},
		{Hooks{Before: "sleep 60 & wait", After: say, Timeout: 50 * time.Millisecond}, "it was ended after 50ms", 0},
		{Hooks{Before: say, After: say}, "", 1},
		{Hooks{After: "exit 1"}, "the hook after the snapshot", 2},
	} {
		_, err := s.Snapshot(t.Context(), "db", SnapshotOptions{Hooks: c.hooks})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.hooks, err, c.want)
		}
		if v, err := s.Get("db"); err != nil || len(v.Snapshots) != c.taken {
			t.Errorf("%+v: %d snapshots, %v; want %d", c.hooks, len(v.Snapshots), err, c.taken)
		}
	}
	b, err := os.ReadFile(note)
	if want := strings.Repeat("after of db\n", 2) + "before of db\nafter of db\n"; err != nil || string(b) != want {
		t.Errorf("the hooks said %q, %v; want %q", b, err, want)
	}
}

// TestSchedule: snapshots are taken when due, rotated, made up once, and manual ones stay. The clock may jump backwards.
func TestSchedule(t *testing.T) {
	t.Parallel()
	s := volumesOn(t, "btrfs")
	v := made(t, s, "db", "service.snapshot.enabled=yes", "service.snapshot.interval=10", "service.snapshot.max=2")
	made(t, s, "other")
	_, err := s.Snapshot(t.Context(), "db", SnapshotOptions{})
	must(t, err)
	// The recorded times are real ones: the clock that asks is moved instead.
	moved := func(id string, at time.Time) {
		must(t, s.existing(t.Context(), "db", func(v Volume) error {
			for i := range v.Snapshots {
				if v.Snapshots[i].ID == id {
					v.Snapshots[i].Taken = at
				}
			}
			return s.keep(t.Context(), v)
		}))
	}
	count := 0
	ask := func(at time.Time, want bool) {
		t.Helper()
		done, err := s.services()[0].work(t.Context(), at) // A new daemon each time.
		must(t, err)
		if (len(done) == 1) != want {
			t.Errorf("at %v: %q, want a snapshot: %v", at.Sub(v.Created), done, want)
		}
		if len(done) == 1 {
			count++
			now, err := s.Get("db")
			must(t, err)
			moved(now.Snapshots[len(now.Snapshots)-1].ID, at)
		}
	}
	at := v.Created.Add(9 * time.Minute)
	ask(at, false)
	at = at.Add(time.Minute)
	ask(at, true)
	ask(at.Add(9*time.Minute), false)
	at = at.Add(72 * time.Hour) // It was down for days.
	ask(at, true)
	ask(at.Add(time.Second), false)
	at = at.Add(-48 * time.Hour)
	ask(at, true)
	ask(at.Add(9*time.Minute), false)
	ask(at.Add(10*time.Minute), true)
	now, err := s.Get("db")
	must(t, err)
	var scheduled, manual int
	for _, p := range now.Snapshots {
		if p.Scheduled {
			scheduled++
		} else {
			manual++
		}
	}
	if scheduled != 2 || manual != 1 || count != 4 {
		t.Errorf("%d scheduled and %d manual snapshots after %d", scheduled, manual, count)
	}
}

// TestSnapshotOnFullDisk: a snapshot that has no room leaves nothing, and the volume as it was.
func TestSnapshotOnFullDisk(t *testing.T) {
	t.Parallel()
	s := volumesOn(t, "ext4")
	v := made(t, s, "db", "capacity=256MiB")
	root := mounted(t, s, "db")
	write(t, root, "f", strings.Repeat("x", 100<<20))
	unix.Sync() // The volume's own data must find room.
	var free unix.Statfs_t
	must(t, unix.Statfs(s.state, &free))
	filler, err := os.Create(filepath.Join(s.state, "filler"))
	must(t, err)
	defer filler.Close()
	must(t, unix.Fallocate(int(filler.Fd()), 0, 0, int64(free.Bfree)*free.Bsize-40<<20))
	if _, err := s.Snapshot(t.Context(), "db", SnapshotOptions{Copy: true}); !errors.Is(err, image.ErrFull) {
		t.Errorf("on a full disk: %v", err)
	}
	files, _ := os.ReadDir(filepath.Join(v.Folder, "snapshots"))
	if v, err := s.Get("db"); err != nil || len(v.Snapshots)+len(files) > 0 {
		t.Errorf("left: %+v, %v; %v", v.Snapshots, files, err)
	}
	write(t, root, "g", "written")
	holds(t, root, "g", "written")
}

// TestViewKilled: what a killed backup or export has left goes with the daemon's start, with the next view, and with the volume.
func TestViewKilled(t *testing.T) {
	t.Parallel()
	for _, fs := range []string{profile.Ext4, profile.Btrfs} {
		s := volumesOn(t, "xfs")
		v := made(t, s, "db", "filesystem="+fs)
		killed := func() {
			w, err := s.View(t.Context(), "db", "")
			must(t, err)
			must(t, w.lock.Close()) // As the end of the process does.
		}
		killed()
		_, err := s.sweep(t.Context())
		must(t, err)
		for _, name := range []string{"view", "view-image"} {
			if _, err := os.Lstat(filepath.Join(v.Folder, name)); err == nil {
				t.Errorf("%s: %s is left", fs, name)
			}
		}
		killed()
		w, err := s.View(t.Context(), "db", "")
		must(t, err)
		if err := s.Remove(t.Context(), "db", true); !errors.Is(err, ErrViewed) {
			t.Errorf("%s: the removal of a volume with a view: %v", fs, err)
		}
		must(t, w.Close())
		killed()
		must(t, s.Remove(t.Context(), "db", true))
	}
}

// BenchmarkSnapshot takes snapshots of a mounted volume of 20 GB with 256 MiB of data, records included. The goal is 200 ms.
func BenchmarkSnapshot(b *testing.B) {
	for _, on := range []string{"xfs", "btrfs"} {
		for fs := range sizes {
			b.Run(fs+"_on_"+on, func(b *testing.B) {
				s := volumesOn(b, on)
				made(b, s, "db", "filesystem="+fs, "capacity=20GB")
				root := mounted(b, s, "db")
				write(b, root, "big", strings.Repeat("0123456789abcdef", 16<<20))
				unix.Sync() // Else the first snapshot would be the time to write the data.
				for b.Loop() {
					p, err := s.Snapshot(b.Context(), "db", SnapshotOptions{})
					must(b, err)
					b.StopTimer()
					must(b, s.RemoveSnapshot(b.Context(), "db", p.ID))
					b.StartTimer()
				}
			})
		}
	}
}
