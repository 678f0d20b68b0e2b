package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/provide/volume/image"
	"plimsoll/internal/testkit/killtest"
)

const lifeOfSnapshots = "snapshots"

func init() { killtest.Life(lifeOfSnapshots, liveSnapshots) }

// liveSnapshots takes a snapshot of a volume, clones it, restores it and removes it.
func liveSnapshots(dir string) error {
	ctx := context.Background()
	s := New(filepath.Join(dir, "state"))
	one, err := s.Snapshot(ctx, "db", SnapshotOptions{Copy: true})
	if err != nil {
		return err
	}
	fmt.Println("taken", one.ID)
	if _, err := s.CloneSnapshot(ctx, "db", one.ID, "copy", image.SnapshotOptions{Copy: true}); err != nil {
		return err
	}
	fmt.Println("cloned")
	before, err := s.RestoreSnapshot(ctx, "db", one.ID, false)
	if err != nil {
		return err
	}
	fmt.Println("taken", before.ID)
	fmt.Println("going", one.ID)
	return s.RemoveSnapshot(ctx, "db", one.ID)
}

// TestSnapshotKilled kills a process at its writes while it takes, clones, restores and removes a snapshot. The next call finds the
// volume's data, each snapshot and clone that was acknowledged, and nothing half done.
func TestSnapshotKilled(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for fs, calls := range map[string][]string{
		"ext4":  {"renameat", "renameat2", "unlinkat", "mkdirat"},
		"btrfs": {"renameat", "renameat2", "unlinkat", "mkdirat"},
	} {
		t.Run(fs, func(t *testing.T) {
			t.Parallel()
			killed := killtest.Test{
				Name:  lifeOfSnapshots,
				Calls: calls,
				Kinds: []string{"volume"},
				Before: func(t *testing.T, dir string) {
					s := New(filepath.Join(dir, "state"))
					made(t, s, "db", "filesystem="+fs, "capacity="+sizes[fs])
					write(t, mounted(t, s, "db"), "f", "kept")
					unmounted(t, s, "db")
				},
				After: wholeSnapshots,
			}.Run(t)
			if killed < 15 {
				t.Errorf("it was killed %d times only", killed)
			}
		})
	}
}

// wholeSnapshots checks what a killed life has left.
func wholeSnapshots(t *testing.T, dir, at, said string) {
	ctx := context.Background()
	s := New(filepath.Join(dir, "state"))
	failed := func(what string, err error) bool {
		t.Helper()
		if err != nil {
			t.Errorf("killed at %s, having said %q: %s: %v", at, said, what, err)
		}
		return err != nil
	}
	_, err := s.Finish(ctx)
	failed("finish", err)
	_, err = s.sweep(ctx)
	failed("sweep", err)
	v, err := s.Get("db")
	if failed("get", err) {
		return
	}
	want := acknowledged(said)
	for _, p := range v.Snapshots {
		want = slices.DeleteFunc(want, func(id string) bool { return id == p.ID })
		if p.Phase != Ready {
			t.Errorf("killed at %s: snapshot %s is %s", at, p.ID, p.Phase)
		}
		if _, err := s.CloneSnapshot(ctx, "db", p.ID, "check-"+p.ID, image.SnapshotOptions{Copy: true}); !failed("clone", err) {
			kept(t, s, "check-"+p.ID, at)
		}
	}
	if len(want) > 0 {
		t.Errorf("killed at %s: snapshots %s are lost", at, want)
	}
	if files, err := os.ReadDir(filepath.Join(v.Folder, "snapshots")); len(files) > len(v.Snapshots) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("killed at %s: %v in the folder of %d snapshots, %v", at, files, len(v.Snapshots), err)
	}
	kept(t, s, "db", at)
	if _, err := s.Get("copy"); err == nil {
		kept(t, s, "copy", at)
	} else if strings.Contains(said, "cloned") {
		t.Errorf("killed at %s: the clone: %v", at, err)
	} else if _, err := os.Lstat(filepath.Join(s.Folder(), "copy")); err == nil {
		t.Errorf("killed at %s: a part of the clone is left", at)
	}
}

// acknowledged are the snapshots that a life said it has taken, without the one that it was removing.
func acknowledged(said string) (ids []string) {
	for line := range strings.Lines(said) {
		if id, ok := strings.CutPrefix(line, "taken "); ok {
			ids = append(ids, strings.TrimSpace(id))
		}
		if id, ok := strings.CutPrefix(line, "going "); ok {
			ids = slices.DeleteFunc(ids, func(x string) bool { return x == strings.TrimSpace(id) })
		}
	}
	return ids
}

// kept checks a volume's data, and unmounts it.
func kept(t *testing.T, s *Volumes, name, at string) {
	ctx := context.Background()
	m, err := s.Mount(ctx, name, ByHand)
	if err == nil {
		var b []byte
		if b, err = os.ReadFile(filepath.Join(m.Root, "f")); err == nil && string(b) != "kept" {
			err = fmt.Errorf("f holds %q", b)
		}
		err = errors.Join(err, s.Unmount(ctx, name, ByHand))
	}
	if err != nil {
		t.Errorf("killed at %s: volume %s: %v", at, name, err)
	}
}
