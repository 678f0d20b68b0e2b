// Package userfile reads and creates the files that a user names on a command line: regular files, and also named
// pipes, terminals and standard input, which may never deliver anything. Even opening a named pipe blocks until its
// other end is open, without regard to interrupts (pipe(7), fifo(7)). So all of this runs in a goroutine, which is
// abandoned when a context ends. Data that it then takes from a pipe is lost, as the program ends.
package userfile

import (
	"context"
	"io"
	"os"
)

// Open returns a reader of the file that open opens at the first read. Its reads end with ctx's cause when ctx does;
// they return open's errors unchanged. Close it in any case.
func Open(ctx context.Context, open func() (io.ReadCloser, error)) io.ReadCloser {
	r, w := io.Pipe()
	stop := context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	go func() {
		defer stop()
		in, err := open()
		if err == nil {
			defer in.Close()
			_, err = io.Copy(w, in)
		}
		w.CloseWithError(err) // nil is the end.
	}()
	return r
}

// Named opens a file by its name.
func Named(name string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return os.Open(name) }
}

// Argument opens what an argument names: a file, or stdin for "-".
func Argument(name string, stdin io.Reader) func() (io.ReadCloser, error) {
	if name == "-" {
		return func() (io.ReadCloser, error) { return io.NopCloser(stdin), nil }
	}
	return Named(name)
}

// Reader returns a function that reads what an argument names, as Read does, until ctx ends.
func Reader(ctx context.Context, stdin io.Reader) func(name string, limit int64) ([]byte, error) {
	return func(name string, limit int64) ([]byte, error) { return Read(ctx, Argument(name, stdin), limit) }
}

// Read reads all of the file that open opens, but at most limit+1 bytes, so that the caller sees that it is too long.
// It gives up with ctx's cause when ctx ends.
func Read(ctx context.Context, open func() (io.ReadCloser, error), limit int64) ([]byte, error) {
	r := Open(ctx, open)
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, limit+1))
}
