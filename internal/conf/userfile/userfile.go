// Package userfile reads and makes what a user names on a command line: a file, and as well a named pipe, a
// terminal or standard input, which may say nothing for ever. Even the opening of a named pipe waits for
// its other end, where the kernel is told of no interrupt (pipe(7), fifo(7)): so all of it is done
// aside, and left to itself when a context ends. What such a reading takes from a pipe is then lost,
// as the program ends.
package userfile

import (
	"context"
	"io"
	"os"
)

// Open returns a reader of what open opens, which is done with the first read. Its reads end with ctx's cause when ctx does;
// the errors of open are its reads', unchanged. Close it in any case.
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

// Read reads all of what open opens, but no more than limit bytes and one, so that the caller sees that it is too much.
// It gives up with ctx's cause when ctx ends.
func Read(ctx context.Context, open func() (io.ReadCloser, error), limit int64) ([]byte, error) {
	r := Open(ctx, open)
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, limit+1))
}
