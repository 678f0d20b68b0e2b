package userfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"plimsoll/internal/testkit/disktest"
)

// TestCreateWithoutSpace: what doesn't fit leaves what was there, or nothing.
func TestCreateWithoutSpace(t *testing.T) {
	dir := disktest.Tmpfs(t, "size=64k")
	old, fresh := filepath.Join(dir, "old"), filepath.Join(dir, "fresh")
	before := bytes.Repeat([]byte("before"), 2000)
	if err := os.WriteFile(old, before, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{old, fresh} {
		o, err := Create(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = o.Write(make([]byte, 1<<20))
		if err := errors.Join(err, o.Close()); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v, want that there is no space", name, err)
		}
	}
	if got, err := os.ReadFile(old); err != nil || !bytes.Equal(got, before) {
		t.Errorf("what was there is now %d bytes, %v", len(got), err)
	}
	if _, err := os.Stat(fresh); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that couldn't be filled is left: %v", err)
	}
}

// TestCreateKeepsTheFile: it is the same file that holds something else, of any length, under all of its names.
func TestCreateKeepsTheFile(t *testing.T) {
	dir := t.TempDir()
	name, link := filepath.Join(dir, "out"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(name, []byte("what was there"), 0o640), os.Link(name, link)); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"short", "a text that is longer than all others", "14 characters:"} {
		o, err := Create(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = o.Write([]byte(text))
		if err := errors.Join(err, o.Close()); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(link); string(got) != text {
			t.Errorf("the other name holds %q, %v, want %q", got, err, text)
		}
	}
}
