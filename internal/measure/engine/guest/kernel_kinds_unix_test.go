//go:build unix

package guest

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// within fails if f doesn't return soon: what waits for a pipe's other end waits for ever, and no interrupt ends it.
func within(t *testing.T, what string, f func() error) error {
	t.Helper()
	got := make(chan error, 1)
	go func() { got <- f() }()
	select {
	case err := <-got:
		return err
	case <-time.After(time.Minute):
		t.Fatalf("%s did not return within a minute", what)
		return nil
	}
}

// TestOpenNoFile: what a plan names as a kernel, or as its modules, may be anything.
func TestOpenNoFile(t *testing.T) {
	dir := t.TempDir()
	pipe, huge, good := filepath.Join(dir, "pipe"), filepath.Join(dir, "huge"), filepath.Join(dir, "vmlinux")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	// An ELF file without a version; most of it is a hole.
	if err := os.WriteFile(huge, append([]byte("\x7fELF"), make([]byte, headerSize)...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, 1<<42); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(good, elfKernel(notePVH), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, want string }{
		{dir, "kernel: " + dir + " is a directory"},
		{pipe, "kernel: " + pipe + " is a named pipe"},
		{"/dev/zero", "kernel: /dev/zero is a device"},
		{huge, "has more than 512 MiB, so it is not a kernel"},
	} {
		err := within(t, "Open("+tt.path+")", func() error { _, err := Open("/", tt.path, ""); return err })
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Open(%s) = %v, want %q", tt.path, err, tt.want)
		}
	}
	modules := filepath.Join(dir, "modules")
	if err := os.Mkdir(modules, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(modules, depFile), 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := Open("/", good, modules)
	if err != nil {
		t.Fatal(err)
	}
	if err := within(t, "Resolve", func() error { _, err := k.Resolve("ext4"); return err }); err == nil || !strings.Contains(err.Error(), depFile+" is a named pipe") {
		t.Errorf("Resolve() with a pipe for %s = %v", depFile, err)
	}
}
