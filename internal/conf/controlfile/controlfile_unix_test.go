//go:build unix

package controlfile

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestRead: regular files and links to them are read, of a bounded size; nothing else is, and nothing is waited for.
func TestRead(t *testing.T) {
	dir, err := os.MkdirTemp("", "regular-") // A socket's path is short.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(at("file"), []byte("12345678"), 0o600))
	must(os.WriteFile(at("larger"), []byte("123456789"), 0o600))
	must(os.Symlink("file", at("link")))
	must(syscall.Mkfifo(at("pipe"), 0o600))
	must(os.Symlink("pipe", at("link-pipe")))
	l, err := net.Listen("unix", at("socket"))
	must(err)
	defer l.Close()
	for _, row := range []struct{ path, why string }{
		{at("file"), ""}, {at("link"), ""},
		{at("larger"), "is larger than 8 bytes"},
		{at("pipe"), "is a named pipe"}, {at("link-pipe"), "is a named pipe"},
		{at("socket"), "is a socket"}, {dir, "is a directory"},
		{"/dev/zero", "is a device"}, {os.DevNull, "is a device"},
	} {
		b, err := Read(row.path, 8)
		var kind *Error
		switch {
		case row.why == "" && (err != nil || string(b) != "12345678"):
			t.Errorf("Read(%s) = %q, %v", row.path, b, err)
		case row.why != "" && (!errors.As(err, &kind) || !strings.HasPrefix(err.Error(), row.path+" "+row.why)):
			t.Errorf("Read(%s) = %q, %v; want that it %s", row.path, b, err, row.why)
		}
	}
	if _, err := Read(at("none"), 8); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read of nothing = %v", err)
	}
	// A pipe that takes a file's place between the look and the opening is opened at once.
	f, err := os.OpenFile(at("pipe"), os.O_RDONLY|atOnce, 0)
	must(err)
	must(f.Close())
}
