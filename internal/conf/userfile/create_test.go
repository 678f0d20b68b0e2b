package userfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCreate: nothing is lost and nothing is left by a command that fails before it prints.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	open := func() *Output {
		t.Helper()
		o, err := Create(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	finish := func(o *Output, texts ...string) {
		t.Helper()
		for _, s := range texts {
			if _, err := io.WriteString(o, s); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
	}
	finish(open())
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that was not written to is left: %v", err)
	}
	for _, texts := range [][]string{{"a longer text"}, {"two ", "parts"}, {"x"}} {
		o := open()
		before, _ := os.ReadFile(name)
		finish(open()) // One that fails.
		if after, err := os.ReadFile(name); string(after) != string(before) || err != nil && len(before) > 0 {
			t.Errorf("what was there became %q, %v", after, err)
		}
		finish(o, texts...)
		want := ""
		for _, s := range texts {
			want += s
		}
		if got, err := os.ReadFile(name); string(got) != want || err != nil {
			t.Errorf("%q holds %q, %v", texts, got, err)
		}
	}
	if _, err := Create(t.Context(), filepath.Join(dir, "none", "out")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Create() in no folder = %v", err)
	}
	if _, err := Create(t.Context(), dir); err == nil {
		t.Error("Create() of a folder succeeded")
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("target", link); err != nil {
		t.Skip(err) // Windows lets few make one.
	}
	name = link
	finish(open(), "through")
	if got, err := os.ReadFile(filepath.Join(dir, "target")); string(got) != "through" {
		t.Errorf("the link's target holds %q, %v", got, err)
	}
}

// TestCreateElsewhere: the file is that of the folder in which it was named, whatever the current one becomes.
func TestCreateElsewhere(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	t.Chdir(dir)
	o, err := Create(t.Context(), "out")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(other)
	if err := os.WriteFile("out", []byte("another's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	for folder, want := range map[string]bool{dir: false, other: true} {
		if _, err := os.Stat(filepath.Join(folder, "out")); (err == nil) != want {
			t.Errorf("out in %s: %v, want it there: %t", folder, err, want)
		}
	}
	if _, err := Create(t.Context(), filepath.Join("none", "out")); err == nil || !strings.Contains(err.Error(), "open none") {
		t.Errorf("Create() = %v, want the name as it was given", err)
	}
}

// TestCreateEnds: an opening that waits for ever ends with the context, and what it opens after all is closed; a file that it
// made is gone.
func TestCreateEnds(t *testing.T) {
	cause := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	name := filepath.Join(t.TempDir(), "late")
	reader := make(chan struct{})
	var opened *Output
	_, err := await(ctx, func() (*Output, error) {
		cancel(cause)
		<-reader
		var err error
		opened, err = create(name)
		reader <- struct{}{}
		return opened, err
	})
	if !errors.Is(err, cause) {
		t.Errorf("await() = %v, want %v", err, cause)
	}
	reader <- struct{}{}
	<-reader
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("what was opened too late was not closed")
		}
	}
	if _, err := Create(ctx, name); !errors.Is(err, cause) {
		t.Errorf("Create() = %v after the interrupt, want %v", err, cause)
	}
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was made after the interrupt: %v", err)
	}
}

// TestCreateStalledReader: a pipe whose reader reads nothing doesn't hold up an interrupted command.
func TestCreateStalledReader(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := mkfifo(pipe); err != nil {
		t.Skipf("named pipes are needed: %v", err)
	}
	reader := make(chan *os.File, 1)
	go func() {
		f, err := os.Open(pipe)
		if err != nil {
			t.Error(err)
		}
		reader <- f
	}()
	cause := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	o, err := Create(ctx, pipe)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	r := <-reader
	defer r.Close()
	if _, err := io.WriteString(o, "a short text"); err != nil {
		t.Fatal(err)
	}
	cancel(cause)
	// More than a pipe holds (pipe(7): 64 KiB, up to 1 MiB).
	if _, err := o.Write(make([]byte, 4<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Write() = %v, want the deadline", err)
	}
	if p, err := io.ReadAll(io.LimitReader(r, 12)); string(p) != "a short text" {
		t.Errorf("the reader got %q, %v", p, err)
	}
}
