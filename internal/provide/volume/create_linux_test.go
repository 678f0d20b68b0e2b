package volume

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"plimsoll/internal/provide/volume/image"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/disktest"
)

// TestCreateBad: what can't be made leaves nothing.
func TestCreateBad(t *testing.T) {
	s := lab(t)
	must(t, os.MkdirAll(filepath.Join(s.Folder(), "foreign", "data"), 0o755))
	must(t, os.WriteFile(filepath.Join(s.Folder(), "foreign", "image"), []byte("mine"), 0o644))
	must(t, os.WriteFile(filepath.Join(s.Folder(), "file"), nil, 0o644))
	before := s.files(t)
	for _, row := range []struct {
		name  string
		with  string
		words []string
	}{
		{"../up", "", []string{`"../up"`}},
		{"foreign", "", []string{"foreign exists", "move it away"}},
		{"file", "", []string{"file exists"}},
		{"copies", "level=3", []string{"level"}},
		{"in-a-file", "directory=" + filepath.Join(s.Folder(), "file"), []string{"not a directory"}},
	} {
		for _, options := range []map[string]string{small, plain} {
			_, err := s.create(t, row.name, options, strings.Fields(row.with)...)
			says(t, err, row.words...)
			if diff := cmp.Diff(before, s.files(t)); diff != "" {
				t.Errorf("%s: left behind:\n%s", row.name, diff)
			}
		}
	}
	if got := content(filepath.Join(s.Folder(), "foreign"), "image"); got != "mine" {
		t.Errorf("the foreign folder's file is %q now", got)
	}
	if _, err := New("relative").create(t, "a", plain); err == nil {
		t.Error("a state folder that is no absolute path has no error")
	}
	if _, _, err := s.Options(map[string]string{"backend": "loccal"}); err == nil || !strings.Contains(err.Error(), "local") {
		t.Errorf("a misspelt backend: %v", err)
	}
}

// TestCreateAgain: the same options are no error, in any spelling; others name what differs. What autoexpand has added doesn't count.
func TestCreateAgain(t *testing.T) {
	s := lab(t)
	v := s.made(t, "db", plain, "service.autoexpand=yes")
	again := s.made(t, "db", plain, "service.autoexpand=true", "capacity=33554432B")
	if diff := cmp.Diff(v, again); diff != "" {
		t.Errorf("a second creation differs:\n%s", diff)
	}
	_, err := s.create(t, "db", plain, "service.autoexpand=yes", "capacity=64MiB", "iops.max=100")
	var exists *ExistsError
	if !errors.As(err, &exists) || !slices.Equal(exists.Differs, []string{"capacity", "iops"}) {
		t.Errorf("other options: %v", err)
	}
	_, err = s.create(t, "db", small, "service.autoexpand=yes")
	if !errors.As(err, &exists) || !slices.Equal(exists.Differs, []string{"backend"}) {
		t.Errorf("another backend: %v", err)
	}
	v.Profile.Capacity, v.Grown, v.GrownBy = 40*mib, 1, 8*mib
	must(t, s.keep(t.Context(), v))
	if _, err = s.create(t, "db", plain, "service.autoexpand=yes"); err != nil {
		t.Errorf("after autoexpand: %v", err)
	}
}

// TestCreateDiskFull: a disk that is full in the middle of a creation leaves nothing, and the error says so. So does one that can't be written.
func TestCreateDiskFull(t *testing.T) {
	dir := disktest.Tmpfs(t, "size=8m")
	s := labIn(t, dir)
	s.made(t, "first", plain)
	before := s.files(t)
	if _, err := s.create(t, "thick", small, "provision=thick"); !errors.Is(err, unix.ENOSPC) && !errors.Is(err, image.ErrFull) {
		t.Errorf("a thick volume on a full disk: %v", err)
	}
	if diff := cmp.Diff(before, s.files(t)); diff != "" {
		t.Errorf("left behind:\n%s", diff)
	}
	fill := disktest.Fill(t, dir)
	for _, options := range []map[string]string{small, plain} {
		if _, err := s.create(t, "none", options); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("a volume on a full disk: %v", err)
		}
	}
	if list, err := s.List(); len(list) != 1 || err != nil {
		t.Errorf("List() = %v, %v", list, err)
	}
	must(t, os.Remove(fill))
	if diff := cmp.Diff(before, s.files(t)); diff != "" {
		t.Errorf("left behind:\n%s", diff)
	}
	s.made(t, "none", plain)

	disktest.Remount(t, dir, unix.MS_RDONLY)
	_, err := s.create(t, "second", plain)
	says(t, err, "read-only", "journal")
	says(t, s.Remove(t.Context(), "first", false), "read-only")
	if list, err := s.List(); len(list) != 2 || err != nil {
		t.Errorf("List() on a read-only disk = %v, %v", list, err)
	}
	if _, err := s.Serve(t.Context(), func(string) {}); !errors.Is(err, unix.EROFS) {
		t.Errorf("Serve() on a read-only disk: %v", err)
	}
}

// TestBehindTheBack: a volume whose data was deleted, truncated or overwritten is listed as damaged, never made again, and can be removed.
func TestBehindTheBack(t *testing.T) {
	for _, row := range []struct {
		name    string
		options map[string]string
		harm    func(v Volume) error
		words   string
	}{
		{"deleted", small, func(v Volume) error { return os.Remove(v.image()) }, "missing"},
		{"truncated", small, func(v Volume) error { return os.Truncate(v.image(), mib) }, "truncated"},
		{"emptied", small, func(v Volume) error { return os.Truncate(v.image(), 0) }, "truncated"},
		{"overwritten", small, func(v Volume) error { return os.WriteFile(v.image(), make([]byte, 32*mib), 0o600) }, "not a volume's image"},
		{"folder", small, func(v Volume) error { return os.RemoveAll(v.Folder) }, "missing"},
		{"data", plain, func(v Volume) error { return os.Remove(directory{}.data(v)) }, "missing"},
		{"link", plain, func(v Volume) error {
			return errors.Join(os.Remove(directory{}.data(v)), os.Symlink("/etc", directory{}.data(v)))
		}, "is no folder"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := lab(t)
			v := s.made(t, "db", row.options)
			must(t, row.harm(v))
			for range 2 {
				_, err := s.Mount(t.Context(), "db", "x")
				says(t, err, "db", row.words)
			}
			if got := s.ids(t, "db"); got != "[]" {
				t.Errorf("users of a volume that could not be mounted: %s", got)
			}
			if list, err := s.List(); len(list) != 1 || err != nil {
				t.Errorf("List() = %v, %v", list, err)
			}
			if err := s.Examine(t.Context(), v); err == nil {
				t.Error("Examine() finds nothing")
			}
			if _, err := os.Lstat(v.image()); row.words == "missing" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the image was made again: %v", err)
			}
			must(t, s.Remove(t.Context(), "db", false))
			if list, err := s.List(); len(list) != 0 || err != nil {
				t.Errorf("after its removal: %v, %v", list, err)
			}
		})
	}
}

// TestDamagedRecords: a record that can't be read is named with its fix, and hides no other.
func TestDamagedRecords(t *testing.T) {
	s := lab(t)
	for _, name := range []string{"a", "b", "c", "d"} {
		s.made(t, name, plain)
	}
	must(t, s.Remove(t.Context(), "d", false))
	s.made(t, "d", plain)
	must(t, s.Remove(t.Context(), "d", false))
	trash, err := s.Trash()
	must(t, err)
	if len(trash) != 2 {
		t.Fatalf("Trash() = %v", trash)
	}
	if _, err := s.List(); err != nil {
		t.Fatal(err)
	}
	s.damage(t, Kind, "b", "{")
	s.damage(t, Kind, "c", `{"kind":"volume","id":"c","payload":{"name":7}}`)
	s.damage(t, removedKind, trash[0].ID, "x")
	list, err := s.List()
	if len(list) != 1 || list[0].Name != "a" {
		t.Errorf("List() = %v", list)
	}
	says(t, err, "b.json", "move that away", "volume c")
	if list, err := s.Trash(); len(list) != 1 || err == nil {
		t.Errorf("Trash() = %v, %v", list, err)
	}
	for _, name := range []string{"b", "c"} {
		_, err := s.Get(name)
		says(t, err, "volume "+name)
		_, err = s.create(t, name, plain)
		says(t, err, "volume "+name)
		says(t, s.Remove(t.Context(), name, false), "volume "+name)
		if _, err := os.Lstat(filepath.Join(s.Folder(), name, "data")); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Mount(t.Context(), "a", "x"); err != nil {
		t.Error(err)
	}
	s.damage(t, useKind, "a", "")
	_, err = s.Mount(t.Context(), "a", "y")
	says(t, err, "volume a", "a.json", "stop its containers")
	done, err := s.Reconcile(t.Context())
	if len(done) > 0 || err == nil {
		t.Errorf("Reconcile() = %v, %v", done, err)
	}
	must(t, os.Remove(journal.In(s.state).Path(useKind, "a")))
	must(t, s.Unmount(t.Context(), "a", "x"))
}
