package enginetest_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/enginetest"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/engine/oci"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/workertest"
)

// TestStateFull: a full state folder is distinguished from a full place. The one is Plimsoll's own
// fault, the other the cell's.
func TestStateFull(t *testing.T) {
	enginetest.NeedRoot(t)
	state := disktest.Tmpfs(t, "size=64m")
	engines := map[place.Kind]engine.Engine{
		place.Dir:  host.New(state, workertest.Source(t)),
		place.Bind: oci.New(state, workertest.Source(t), exec.LookPath),
	}
	open := func(kind place.Kind, path string) error {
		s, err := engines[kind].Open(t.Context(), engine.Spec{ID: enginetest.ID(), Place: place.Spec{Name: "p", Kind: kind, Path: path}})
		if err == nil {
			err = s.Close(t.Context())
		}
		return err
	}
	for kind := range engines {
		if err := open(kind, t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}
	disktest.Fill(t, state)
	for kind := range engines {
		var full *engine.StateFullError
		if err := open(kind, t.TempDir()); !errors.As(err, &full) || full.State != state || !errors.Is(err, unix.ENOSPC) {
			t.Errorf("%s: Open() = %v, want that %s is full", kind, err, state)
		}
	}
	// A place without an inode left.
	small := disktest.Tmpfs(t, "size=64k,nr_inodes=1")
	fine := t.TempDir()
	engines[place.Dir] = host.New(fine, workertest.Source(t))
	engines[place.Bind] = oci.New(fine, workertest.Source(t), exec.LookPath)
	for kind := range engines {
		var full *engine.StateFullError
		if err := open(kind, small); err == nil || errors.As(err, &full) || !errors.Is(err, unix.ENOSPC) {
			t.Errorf("%s: Open() in a full place = %v, want no space left, and not of the state folder", kind, err)
		}
	}
}

// TestStateReadOnly: the error of a state folder that may not be written says so with its fix. It is distinguished
// from a place that may not be written.
func TestStateReadOnly(t *testing.T) {
	enginetest.NeedRoot(t)
	state := disktest.Tmpfs(t, "size=64m")
	for kind, e := range map[place.Kind]engine.Engine{
		place.Dir:  host.New(state, workertest.Source(t)),
		place.Bind: oci.New(state, workertest.Source(t), exec.LookPath),
	} {
		open := func(path string) error {
			s, err := e.Open(t.Context(), engine.Spec{ID: enginetest.ID(), Place: place.Spec{Name: "p", Kind: kind, Path: path}})
			if err == nil {
				err = s.Close(t.Context())
			}
			return err
		}
		if err := open(t.TempDir()); err != nil {
			t.Fatal(err) // The worker is there, and the runtime chosen.
		}
		shut := disktest.Tmpfs(t, "size=64k")
		for _, row := range []struct {
			folder, path string
			own          bool
		}{{shut, shut, false}, {state, t.TempDir(), true}} {
			// Files that a worker's rings held open are closed a moment after the worker ends.
			err := unix.EBUSY
			for end := time.Now().Add(time.Minute); err == unix.EBUSY && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
				err, _ = unix.Mount("", row.folder, "", unix.MS_REMOUNT|unix.MS_RDONLY, "").(unix.Errno)
			}
			if err != 0 {
				t.Fatal(err)
			}
			if err := open(row.path); !errors.Is(err, unix.EROFS) || !strings.Contains(err.Error(), row.folder) || strings.Contains(err.Error(), "--state") != row.own {
				t.Errorf("%s: Open() = %v with %s read-only, want that, and another --state to be named: %t", kind, err, row.folder, row.own)
			}
		}
		if err := unix.Mount("", state, "", unix.MS_REMOUNT, ""); err != nil {
			t.Fatal(err)
		}
	}
}
