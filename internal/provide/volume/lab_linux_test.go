package volume

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/host/filesystem"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/testkit/leaktest"
)

const mib = 1 << 20

// small are the options of a volume that is made quickly, and plain those of one in a folder.
var (
	small = map[string]string{"capacity": "32MiB"}
	plain = map[string]string{"capacity": "32MiB", "backend": "directory", "filesystem": "none"}
)

// lab has the volumes of a folder of the test's own, of which nothing is mounted at the end.
func lab(t testing.TB) *Volumes {
	t.Helper()
	dir := t.TempDir()
	leaktest.Check(t, dir)
	return labIn(t, dir)
}

func labIn(t testing.TB, state string) *Volumes {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	s := New(state)
	t.Cleanup(func() { unmountAll(state) })
	return s
}

// unmountAll unmounts what a failed test has left.
func unmountAll(state string) {
	mounts, _ := filepath.Glob(filepath.Join(state, "volumes", "*", "mount"))
	for _, m := range mounts {
		if at, err := mountedAt(m); at != "" || err != nil {
			unix.Unmount(m, unix.MNT_DETACH)
		}
	}
}

// create makes a volume with options. "small" and "plain" are common ones.
func (s *Volumes) create(t testing.TB, name string, options map[string]string, more ...string) (Volume, error) {
	t.Helper()
	all := map[string]string{}
	for k, v := range options {
		all[k] = v
	}
	for _, kv := range more {
		k, v, _ := strings.Cut(kv, "=")
		all[k] = v
	}
	backend, p, err := s.Options(all)
	if err != nil {
		t.Fatal(err)
	}
	v, _, err := s.Create(t.Context(), name, backend, p)
	return v, err
}

// growing are the options of a volume that grows while it is mounted, and unit is a quarter of its least size in MiB: ext4 needs CAP_SYS_RESOURCE for that.
func growing() (options map[string]string, unit int) {
	if filesystem.MayGrow(filesystem.Ext4) {
		return small, 8
	}
	return map[string]string{"capacity": "320MiB", "filesystem": "xfs"}, 80
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// made is create that must succeed.
func (s *Volumes) made(t testing.TB, name string, options map[string]string, more ...string) Volume {
	t.Helper()
	v, err := s.create(t, name, options, more...)
	must(t, err)
	return v
}

// says fails the test unless an error has all of the words.
func says(t testing.TB, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", words)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error is %q, want %q in it", err, w)
		}
	}
}

// state describes all that is recorded and all folders, for comparison.
func (s *Volumes) files(t testing.TB) []string {
	t.Helper()
	var list []string
	for _, kind := range []string{Kind, useKind, removedKind} {
		entries, err := s.journal.Entries(kind)
		if err != nil {
			t.Error(err)
		}
		for _, e := range entries {
			list = append(list, kind+"/"+e.ID)
		}
	}
	for _, pattern := range []string{"volumes/*", "volumes/.removed/*", "volumes/*/.*"} {
		paths, _ := filepath.Glob(filepath.Join(s.state, pattern))
		for _, p := range paths {
			if name := filepath.Base(p); name != ".removed" && name != ".daemon" {
				rel, _ := filepath.Rel(s.state, p)
				list = append(list, rel)
			}
		}
	}
	slices.Sort(list)
	return list
}

// put writes a file of a volume durably.
func put(root, name, text string) error {
	f, err := os.Create(filepath.Join(root, name))
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// content is a file of a volume, or why it can't be read.
func content(root, name string) string {
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// damage writes words in place of an entry of the journal.
func (s *Volumes) damage(t testing.TB, kind, id, text string) {
	t.Helper()
	must(t, os.WriteFile(journal.In(s.state).Path(kind, id), []byte(text), 0o600))
}

// ids are those of a volume's users.
func (s *Volumes) ids(t testing.TB, name string) string {
	t.Helper()
	users, err := s.Users(name)
	must(t, err)
	var ids []string
	for _, u := range users {
		ids = append(ids, u.ID)
	}
	return fmt.Sprint(ids)
}
