package engine_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/measure/engine"
	"plimsoll/internal/testkit/disktest"
)

// TestRemoveOwnHidden: a file system in FUSE keeps a removed file in its folder, under another name, until it is closed. The
// folder is removed all the same.
func TestRemoveOwnHidden(t *testing.T) {
	dir := filepath.Join(disktest.BindFS(t, t.TempDir(), false), "plimsoll-1")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error)
	go func() {
		time.Sleep(300 * time.Millisecond)
		closed <- f.Close()
	}()
	if _, err := engine.RemoveOwn(dir, "1"); err != nil {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
