package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/testkit/leaktest"
	"plimsoll/internal/text/refusal"
	"plimsoll/internal/text/usage"
)

// TestTrash: a removed volume keeps its data, and comes back with it; several of one name are kept apart.
func TestTrash(t *testing.T) {
	t.Parallel()
	s := lab(t)
	ctx := t.Context()
	says(t, s.Remove(ctx, "none", false), `there is no volume "none"`)
	_, err := s.Restore(ctx, "none")
	says(t, err, "no removed volume none")

	for _, text := range []string{"first", "second"} {
		s.made(t, "db", small)
		m, err := s.Mount(ctx, "db", "x")
		must(t, err)
		must(t, put(m.Root, "f", text))
		must(t, s.Unmount(ctx, "db", "x"))
		must(t, s.Remove(ctx, "db", false))
	}
	trash, err := s.Trash()
	must(t, err)
	if len(trash) != 2 || trash[0].At.Before(trash[1].At) || !trash[0].Until.Equal(trash[0].At.Add(DefaultKeep)) {
		t.Fatalf("Trash() = %+v", trash)
	}
	back := func(name, want string) {
		t.Helper()
		v, err := s.Restore(ctx, name)
		must(t, err)
		m, err := s.Mount(ctx, v.Name, "x")
		must(t, err)
		if got := content(m.Root, "f"); v.Name != "db" || got != want {
			t.Errorf("Restore(%s): %s with %q, want %q", name, v.Name, got, want)
		}
		must(t, s.Unmount(ctx, "db", "x"))
	}
	back("db", "second")
	_, err = s.Restore(ctx, trash[1].ID)
	says(t, err, "there is a volume db again")
	must(t, s.Remove(ctx, "db", true))
	must(t, os.WriteFile(trash[1].Folder, nil, 0o600))
	_, err = s.Restore(ctx, "db")
	says(t, err, "exists: move it away")
	must(t, os.Remove(trash[1].Folder))
	back(trash[1].ID, "first")
	must(t, s.Remove(ctx, "db", false))

	if gone, err := s.Empty(ctx, false); len(gone) > 0 || err != nil {
		t.Errorf("Empty() deleted %v, %v before its time", gone, err)
	}
	if gone, err := s.Empty(ctx, true); len(gone) != 1 || err != nil {
		t.Errorf("Empty(all) = %v, %v", gone, err)
	}
	s.made(t, "db", plain)
	s.Keep = time.Nanosecond
	must(t, s.Remove(ctx, "db", false))
	if gone, err := s.Empty(ctx, false); len(gone) != 1 || err != nil {
		t.Errorf("Empty() after its time = %v, %v", gone, err)
	}
	if left := s.files(t); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestTrashGone: the data of a removed volume was deleted by the user.
func TestTrashGone(t *testing.T) {
	s := lab(t)
	s.made(t, "db", plain)
	must(t, s.Remove(t.Context(), "db", false))
	must(t, os.RemoveAll(filepath.Join(s.Folder(), trashName)))
	_, err := s.Restore(t.Context(), "db")
	says(t, err, "db@")
	if list, err := s.List(); len(list) > 0 || err != nil {
		t.Errorf("List() = %v, %v", list, err)
	}
	if gone, err := s.Empty(t.Context(), true); len(gone) != 1 || err != nil {
		t.Errorf("Empty(all) = %v, %v", gone, err)
	}
}

// TestUpdate: a volume grows while it is mounted; what can't be changed is refused, and nothing has changed.
func TestUpdate(t *testing.T) {
	t.Parallel()
	s := lab(t)
	ctx := t.Context()
	options, unit := growing()
	v := s.made(t, "db", options)
	_, err := s.Update(ctx, "none", map[string]string{"capacity": "64MiB"})
	says(t, err, `there is no volume "none"`)
	for _, row := range [][]string{
		{"profile=GOLD", "profile can't be changed"},
		{"backend=directory", "backend can't be changed"},
		{"capacity=16MiB", "can't shrink"},
		{"capacity=1e30", "capacity"},
		{"capacity=0", "capacity"},
		{"filesystem=btrfs", "the file system is settled"},
		{"provision=thick", "thin or thick is settled"},
		{"directory=/srv", "the folder is settled"},
		{"capasity=64MiB", "capacity"},
	} {
		k, val, _ := strings.Cut(row[0], "=")
		_, err := s.Update(ctx, "db", map[string]string{k: val})
		var u *usage.Error
		if says(t, err, row[1]); !errors.As(err, &u) {
			t.Errorf("%s: %v is not the user's error", row[0], err)
		}
	}
	if _, err := s.Update(ctx, "db", map[string]string{"shared": "yes"}); !refused(err) {
		t.Errorf("shared: %v, want a refusal", err)
	}
	if now, err := s.Get("db"); err != nil || differing(v, now) != nil {
		t.Errorf("after refusals: %+v, %v", now, err)
	}
	m, err := s.Mount(ctx, "db", "x")
	must(t, err)
	before, err := s.Space(v)
	must(t, err)
	must(t, put(m.Root, "f", "kept"))
	if v, err = s.Update(ctx, "db", map[string]string{"capacity": fmt.Sprint(8*unit, "MiB")}); err != nil || v.Profile.Capacity != int64(8*unit*mib) {
		t.Fatalf("Update() = %+v, %v", v, err)
	}
	after, err := s.Space(v)
	must(t, err)
	if after.Size < before.Size+int64(3*unit*mib) || content(m.Root, "f") != "kept" {
		t.Errorf("it had %d bytes, and has %d, with %q", before.Size, after.Size, content(m.Root, "f"))
	}
	must(t, s.Unmount(ctx, "db", "x"))
}

func refused(err error) bool {
	_, ok := errors.AsType[*refusal.Error](err)
	return ok
}

// TestExpand: a file that fills the volume makes it larger, as often as the profile allows.
func TestExpand(t *testing.T) {
	t.Parallel()
	s := lab(t)
	ctx := t.Context()
	options, unit := growing()
	s.made(t, "db", options, "service.autoexpand=yes", "service.autoexpand.threshold=45", "service.autoexpand.increment=50", "service.autoexpand.limit=2")
	s.made(t, "other", small)
	expanded := func(want, times int) {
		t.Helper()
		if _, err := s.Expand(ctx); err != nil {
			t.Error(err)
		}
		v, err := s.Get("db")
		must(t, err)
		if got := int(v.Profile.Capacity / mib); got/unit != want || v.Grown != times {
			t.Errorf("it has %d MiB after %d times, want %d units of %d after %d", got, v.Grown, want, unit, times)
		}
	}
	expanded(4, 0) // It isn't mounted.
	m, err := s.Mount(ctx, "db", "x")
	must(t, err)
	o, err := s.Mount(ctx, "other", "x")
	must(t, err)
	expanded(4, 0)
	fill := func(root, name string, n int) {
		t.Helper()
		f, err := os.Create(filepath.Join(root, name))
		must(t, err)
		must(t, errors.Join(unix.Fallocate(int(f.Fd()), 0, 0, int64(n*unit*mib)), f.Sync(), f.Close()))
	}
	fill(m.Root, "a", 2)
	must(t, put(o.Root, "a", strings.Repeat("x", 20*mib)))
	expanded(5, 1)
	expanded(5, 1)
	fill(m.Root, "b", 1)
	expanded(8, 2)
	fill(m.Root, "c", 2)
	expanded(8, 2)
	if v, err := s.Get("other"); err != nil || v.Grown > 0 {
		t.Errorf("a volume without autoexpand: %+v, %v", v, err)
	}
	must(t, s.Unmount(ctx, "db", "x"))
	must(t, s.Unmount(ctx, "other", "x"))
}

// TestServe: one daemon serves a state folder. The next one finishes what was begun, and leaves what is mounted.
func TestServe(t *testing.T) {
	s := lab(t)
	var log []string
	served, err := s.Serve(t.Context(), func(line string) { log = append(log, line) })
	must(t, err)
	if _, err := New(s.state).Serve(t.Context(), func(string) {}); !errors.Is(err, ErrServed) {
		t.Errorf("a second daemon: %v", err)
	}
	m, err := func() (Mounted, error) { s.made(t, "db", small); return s.Mount(t.Context(), "db", "x") }()
	must(t, err)
	v := s.made(t, "half", plain)
	v.Phase = Deleting
	must(t, s.keep(t.Context(), v))
	must(t, served.Close())
	again, err := New(s.state).Serve(t.Context(), func(line string) { log = append(log, line) })
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	again.Run(ctx)
	must(t, again.Close())
	if got := strings.Join(log, "; "); got != "volume half, which another process was deleting" {
		t.Errorf("the log is %q", got)
	}
	if left := leaktest.Find(m.Root[:len(m.Root)-len("/data")]); len(left) != 1 {
		t.Errorf("mounted: %q", left)
	}
	must(t, s.Unmount(t.Context(), "db", "x"))
	if _, err := New("relative").Serve(t.Context(), func(string) {}); err == nil {
		t.Error("a state folder that is no absolute path has no error")
	}
}
