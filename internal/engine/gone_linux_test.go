package engine_test

import (
	"errors"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/disktest"
	"plimsoll/internal/engine"
	"plimsoll/internal/place"
	"plimsoll/internal/workertest"
)

// TestStateFull: a full state folder is told from a full place: the one is Plimsoll's own
// affair, the other the cell's.
func TestStateFull(t *testing.T) {
	needRoot(t)
	state := disktest.Tmpfs(t, "size=64m")
	engines := map[place.Kind]engine.Engine{
		place.Dir:  engine.NewHost(state, workertest.Source(t)),
		place.Bind: engine.NewOCI(state, workertest.Source(t), exec.LookPath),
	}
	open := func(kind place.Kind, path string) error {
		s, err := engines[kind].Open(t.Context(), engine.Spec{ID: ociID(), Place: place.Spec{Name: "p", Kind: kind, Path: path}})
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
	engines[place.Dir] = engine.NewHost(fine, workertest.Source(t))
	engines[place.Bind] = engine.NewOCI(fine, workertest.Source(t), exec.LookPath)
	for kind := range engines {
		var full *engine.StateFullError
		if err := open(kind, small); err == nil || errors.As(err, &full) || !errors.Is(err, unix.ENOSPC) {
			t.Errorf("%s: Open() in a full place = %v, want no space left, and not of the state folder", kind, err)
		}
	}
}
