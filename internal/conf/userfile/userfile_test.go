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
)

func TestRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("some text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int64]string{100: "some text", 9: "some text", 8: "some text", 3: "some", 0: "s"} {
		if got, err := Read(t.Context(), Named(name), limit); string(got) != want || err != nil {
			t.Errorf("Read(limit %d) = %q, %v, want %q", limit, got, err, want)
		}
	}
	var file *fs.PathError
	if _, err := Read(t.Context(), Named(name+"x"), 9); !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &file) {
		t.Errorf("Read() of nothing = %v", err)
	}
	if _, err := Read(t.Context(), Named(filepath.Dir(name)), 9); err == nil {
		t.Error("Read() of a folder succeeded")
	}
}

// TestReadEnds: neither an opening nor a reading that waits for ever outlives the context.
func TestReadEnds(t *testing.T) {
	cause := errors.New("interrupted")
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	silent, _ := io.Pipe()
	for name, open := range map[string]func() (io.ReadCloser, error){
		"opening": func() (io.ReadCloser, error) { <-never; return nil, io.EOF },
		"reading": func() (io.ReadCloser, error) { return silent, nil },
		"more": func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader("a part"), silent)), nil
		},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := Read(ctx, open, 100)
			done <- err
		}()
		cancel(cause)
		if err := <-done; !errors.Is(err, cause) {
			t.Errorf("%s: Read() = %v, want %v", name, err, cause)
		}
	}
}

// TestOpenClosed: a file that is read no further is closed.
func TestOpenClosed(t *testing.T) {
	closed := make(chan struct{})
	r := Open(t.Context(), func() (io.ReadCloser, error) { return endless{closed}, nil })
	if _, err := r.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	r.Close()
	<-closed
}

// endless is a reader that tells when it is closed.
type endless struct{ closed chan struct{} }

func (endless) Read(p []byte) (int, error) { return len(p), nil }
func (e endless) Close() error             { close(e.closed); return nil }
