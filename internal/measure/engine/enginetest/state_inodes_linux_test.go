package enginetest_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/engine/enginetest"
	"plimsoll/internal/measure/engine/host"
	"plimsoll/internal/measure/engine/oci"
	"plimsoll/internal/measure/place"
	"plimsoll/internal/testkit/disktest"
	"plimsoll/internal/testkit/workertest"
)

// TestStateWithoutInodes: if a place names no folder and its data has no room in the state folder, the
// error of every engine blames the state folder.
func TestStateWithoutInodes(t *testing.T) {
	for kind, engineIn := range map[place.Kind]func(state string) engine.Engine{
		place.Dir:  func(state string) engine.Engine { return host.New(state, workertest.Source(t)) },
		place.Bind: func(state string) engine.Engine { return oci.New(state, workertest.Source(t), exec.LookPath) },
	} {
		state := disktest.Tmpfs(t, "size=64m,nr_inodes=200")
		e := engineIn(state)
		open := func(path string) error {
			s, err := e.Open(t.Context(), engine.Spec{ID: enginetest.ID(), Place: place.Spec{Name: "p", Kind: kind, Path: path}})
			if err == nil {
				err = s.Close(t.Context())
			}
			return err
		}
		if err := open(t.TempDir()); err != nil {
			t.Fatal(err)
		}
		var err error
		for i := 0; err == nil; i++ {
			err = os.WriteFile(filepath.Join(state, fmt.Sprint("file", i)), nil, 0o600)
		}
		var full *engine.StateFullError
		if err := open(""); !errors.As(err, &full) || !errors.Is(err, unix.ENOSPC) {
			t.Errorf("%s: Open() = %v, want that the state folder is full", kind, err)
		}
	}
}
