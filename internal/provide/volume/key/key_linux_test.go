package key

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// secret is the key of the tests; no error may have it in it.
const secret = "0123456789abcdef secret\n"

// TestBad: each source without a key is an error that names the source, and doesn't show the key.
func TestBad(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		source Source
		want   string
	}{
		{Source{}, "no source of a key"},
		{Source{File: filepath.Join(dir, "none")}, "none: no such file or directory"},
		{Source{File: dir}, "it is no regular file"},
		{Source{File: pipe}, "it is no regular file"},
		{Source{File: file("open", secret, 0o644)}, "every user may open it (mode 0644): chmod 600 " + dir + "/open"},
		{Source{File: file("empty", "", 0o600)}, "it has 0 bytes"},
		{Source{File: file("short", secret[:15], 0o600)}, "it has 15 bytes: 16 are the least"},
		{Source{File: file("long", strings.Repeat("k", Most+1), 0o600)}, "it has more than 4096 bytes"},
		{Source{Command: "echo the vault is locked >&2; exit 3"}, "service.encryption.key_command): exit status 3: the vault is locked"},
		{Source{Command: "exit 3"}, "service.encryption.key_command): exit status 3"},
		{Source{Command: "printf '" + secret + "'; printf '" + secret + "' >&2; exit 1"}, "are not shown"},
		{Source{Command: "yes 0123456789abcdef"}, "it has more than 4096 bytes"},
		{Source{Command: "true"}, "it has 0 bytes"},
	} {
		k, err := row.source.Read(t.Context())
		if k != nil || err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), secret[:16]) {
			t.Errorf("Read of %+v = %q, %v; want %q", row.source, k, err, row.want)
		}
	}
}

// TestRead: all bytes count.
func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(secret), 0o640); err != nil {
		t.Fatal(err)
	}
	for _, s := range []Source{{File: path}, {Command: "cat " + path}, {Command: "cat " + path + "; echo a warning >&2"}} {
		if k, err := s.Read(t.Context()); err != nil || string(k) != secret {
			t.Errorf("Read of %+v = %q, %v", s, k, err)
		}
	}
}

// TestEnds: a command and its children end with the context.
func TestEnds(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		// The end of the pipe is open once the command runs.
		f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
		if err == nil {
			stop()
			f.Close()
		}
	}()
	if _, err := (Source{Command: "sleep 600 & exec 9<" + pipe + "; wait"}).Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Read = %v", err)
	}
}
