package volume

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/provide/volume/image"
	"plimsoll/internal/provide/volume/key"
	"plimsoll/internal/testkit/killtest"
	"plimsoll/internal/testkit/leaktest"
)

func init() {
	killtest.Life("volumes", living)
	killtest.Life("operation", operation)
}

// living takes a volume through all that changes one, and says what is done.
func living(dir string) error {
	s := New(dir)
	ctx := context.Background()
	backend, p, err := s.Options(small)
	if err != nil {
		return err
	}
	if _, _, err := s.Create(ctx, "db", backend, p); err != nil {
		return err
	}
	fmt.Println("made")
	m, err := s.Mount(ctx, "db", "x")
	if err != nil {
		return err
	}
	if err := put(m.Root, "f", "acknowledged"); err != nil {
		return err
	}
	fmt.Println("written")
	if err := s.Unmount(ctx, "db", "x"); err != nil {
		return err
	}
	if _, err := s.Update(ctx, "db", map[string]string{"capacity": "48MiB"}); err != nil {
		return err
	}
	fmt.Println("grown")
	if err := s.Remove(ctx, "db", false); err != nil {
		return err
	}
	fmt.Println("removed")
	if _, err := s.Restore(ctx, "db"); err != nil {
		return err
	}
	fmt.Println("restored")
	fmt.Println("deleting")
	if err := s.Remove(ctx, "db", true); err != nil {
		return err
	}
	fmt.Println("deleted")
	return nil
}

// TestKilled: a process is killed at each call that changes something. The next one finds the volume whole, among the volumes or the removed ones, with what
// was written to it, or finds nothing of it; and it can remove all that is left.
func TestKilled(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	killed := killtest.Test{
		Name:  "volumes",
		Calls: []string{"mkdirat", "renameat", "renameat2", "unlinkat", "move_mount", "umount2"},
		Kinds: []string{"volume", "volume-use", "removed-volume"},
		After: afterKill,
	}.Run(t)
	if killed < 35 {
		t.Errorf("it was killed %d times only", killed)
	}
}

func afterKill(t *testing.T, dir, at, said string) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	defer unmountAll(dir)
	s := New(dir)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Errorf("killed at %s after %q: %v", at, said, err)
		}
	}
	wrong := func(format string, args ...any) {
		t.Helper()
		t.Errorf("killed at %s after %q: %s", at, said, fmt.Sprintf(format, args...))
	}
	server, err := s.Serve(ctx, func(string) {})
	check(err)
	check(server.Close())
	list, err := s.List()
	check(err)
	trash, err := s.Trash()
	check(err)
	n, says := len(list)+len(trash), func(word string) bool { return strings.Contains(said, word+"\n") }
	switch {
	case n > 1, says("made") && !says("deleting") && n == 0, says("deleted") && n > 0:
		wrong("%d volumes and %d removed ones", len(list), len(trash))
	case says("removed") && !says("restored") && len(trash) == 1:
		_, err := s.Restore(ctx, "db")
		check(err)
	case len(trash) == 1: // Its removal was not acknowledged.
		_, err := s.Restore(ctx, trash[0].ID)
		check(err)
	}
	if n == 1 {
		v, err := s.Get("db")
		check(err)
		check(s.Examine(ctx, v))
		if want := int64(48 * mib); says("grown") && v.Profile.Capacity != want {
			wrong("it has %d bytes", v.Profile.Capacity)
		}
		m, err := s.Mount(ctx, "db", "check")
		check(err)
		if got := content(m.Root, "f"); says("written") && got != "acknowledged" {
			wrong("the file is %q", got)
		}
		check(s.Unmount(ctx, "db", "check"))
		check(s.Unmount(ctx, "db", "x"))
		if left := leaktest.Find(dir); len(left) > 0 {
			wrong("left mounted: %q", left)
		}
		check(image.Check(ctx, v.image(), true, key.Source{}))
		check(s.Remove(ctx, "db", false))
	}
	_, err = s.Empty(ctx, true)
	check(err)
	var left []string
	check(filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if name, _ := filepath.Rel(dir, path); err == nil && !d.IsDir() && name != "journal/lock" {
			left = append(left, name)
		}
		return err
	}))
	if folders, _ := filepath.Glob(filepath.Join(dir, "volumes", "[^.]*")); len(left)+len(folders) > 0 || len(leaktest.Find(dir)) > 0 {
		wrong("left behind: %q %q %q", left, folders, leaktest.Find(dir))
	}
}
