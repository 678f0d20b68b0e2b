package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// names lists a folder.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestWrite: a file is there when it is complete, and what a killed process left of one is told from what is being written.
func TestWrite(t *testing.T) {
	dir, err := os.MkdirTemp("", "filelock-") // TempDir's way of removing one is not known to Wine 8.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, name := range names(t, dir) {
			os.Remove(filepath.Join(dir, name))
		}
		os.Remove(dir)
	})
	left := filepath.Join(dir, ".saved-123")
	for _, p := range []string{left, filepath.Join(dir, ".other-123"), filepath.Join(dir, "saved-123")} {
		if err := os.WriteFile(p, []byte("torn"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	to := filepath.Join(dir, "whole")
	err = Write(to, "saved-", func(f *os.File) error {
		if _, err := os.Stat(to); err == nil {
			t.Error("the file is there before it is complete")
		}
		removed, err := Sweep(dir, "saved-")
		if err != nil || !slices.Equal(removed, []string{left}) {
			t.Errorf("Sweep() = %q, %v, want what the dead left alone", removed, err)
		}
		_, err = f.WriteString("all of it")
		return err
	})
	if b, rerr := os.ReadFile(to); err != nil || string(b) != "all of it" {
		t.Errorf("Write() = %v, and made %q, %v", err, b, rerr)
	}
	broke := errors.New("no room")
	if err := Write(filepath.Join(dir, "torn"), "saved-", func(*os.File) error { return broke }); !errors.Is(err, broke) || err.Error() != broke.Error() {
		t.Errorf("Write() = %v, want %v", err, broke)
	}
	// The temporary file's name differs each time.
	none := filepath.Join(dir, "none", "file")
	var path *os.PathError
	if err := Write(none, "saved-", func(*os.File) error { return nil }); !errors.As(err, &path) || path.Path != none {
		t.Errorf("Write() = %v, want an error of %s", err, none)
	}
	closed := func(f *os.File) error { _, err := f.WriteAt(nil, -1); return err }
	if err := Write(to, "saved-", closed); !errors.As(err, &path) || path.Path != to {
		t.Errorf("Write() = %v, want an error of %s", err, to)
	}
	if got, want := names(t, dir), []string{".other-123", "saved-123", "whole"}; !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
	if removed, err := Sweep(filepath.Join(dir, "none"), "saved-"); err != nil || removed != nil {
		t.Errorf("Sweep() of no folder = %q, %v", removed, err)
	}
}
