package userfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWriteWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	broken := errors.New("broken")
	put := func(s string, err error) error {
		return WriteWhole(t.Context(), path, func(w io.Writer) error { io.WriteString(w, s); return err })
	}
	if err := put("one", nil); err != nil {
		t.Fatal(err)
	}
	if err := put("two", broken); !errors.Is(err, broken) {
		t.Errorf("WriteWhole = %v, want %v", err, broken)
	}
	b, err := os.ReadFile(path)
	if err != nil || string(b) != "one" {
		t.Errorf("the file holds %q, %v, want the old text", b, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}

// TestWriteWholeKeepsWhatItLeadsTo: a device, a pipe and a link are written to, not replaced.
func TestWriteWholeKeepsWhatItLeadsTo(t *testing.T) {
	dir := t.TempDir()
	put := func(path string) error {
		return WriteWhole(t.Context(), path, func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err })
	}
	pipe, file, link, into := filepath.Join(dir, "pipe"), filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "into")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() {
		b, _ := os.ReadFile(pipe)
		got <- string(b)
	}()
	if err := put(pipe); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "text" {
		t.Errorf("the pipe carried %q", text)
	}
	if st, err := os.Lstat(pipe); err != nil || st.Mode().Type() != os.ModeNamedPipe {
		t.Errorf("the pipe is now %v, %v", st, err)
	}
	// A device of the test's own: the machine's is not to be put at risk.
	null := filepath.Join(dir, "null")
	if err := unix.Mknod(null, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))); err != nil {
		if os.Geteuid() == 0 {
			t.Fatal(err)
		}
		null = pipe // Only root makes devices.
		go os.ReadFile(pipe)
	}
	before, err := os.Stat(null)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(null, into); err != nil {
		t.Fatal(err)
	}
	if err := put(into); err != nil {
		t.Error(err)
	}
	if after, err := os.Stat(null); err != nil || after.Mode() != before.Mode() {
		t.Errorf("%s is now %v, %v", null, after, err)
	}
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	if err := put(link); err != nil {
		t.Error(err)
	}
	for _, l := range []string{link, into} {
		if st, err := os.Lstat(l); err != nil || st.Mode().Type() != os.ModeSymlink {
			t.Errorf("%s is now %v, %v", l, st, err)
		}
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "text" {
		t.Errorf("the link's file holds %q, %v", b, err)
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the link's file is %v, %v, want mode 0600", st, err)
	}
}
