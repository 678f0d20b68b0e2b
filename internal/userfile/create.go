package userfile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Create opens a file for what a command is about to print, before it does the work that it prints of. What is there stays until the
// first write, and then goes; a file that was made and never written to is removed by Close. A named pipe is waited
// for until ctx ends, and then the error is ctx's cause; one whose reader has stopped reading makes the writes fail a moment
// after that with os.ErrDeadlineExceeded.
func Create(ctx context.Context, name string) (*Output, error) {
	// It may be opened, and removed, only after the current folder has changed.
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	return await(ctx, func() (*Output, error) {
		o, err := create(path)
		var named *fs.PathError
		if errors.As(err, &named) && named.Path == path {
			named.Path = name // As the user called it.
		}
		return o, err
	})
}

// await returns what open does, unless ctx ends before. What is opened after that is closed.
func await(ctx context.Context, open func() (*Output, error)) (*Output, error) {
	type answer struct {
		o   *Output
		err error
	}
	done := make(chan answer, 1)
	go func() {
		if ctx.Err() != nil {
			done <- answer{nil, context.Cause(ctx)} // Nothing is to be made any more.
			return
		}
		o, err := open()
		done <- answer{o, err}
	}()
	select {
	case a := <-done:
		if a.err == nil && !a.o.regular {
			// What can't have a deadline, as a device, doesn't wait for anybody.
			a.o.stop = context.AfterFunc(ctx, func() { _ = a.o.f.SetWriteDeadline(time.Now().Add(lastWrites)) })
		}
		return a.o, a.err
	case <-ctx.Done():
		go func() {
			if a := <-done; a.err == nil {
				a.o.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// lastWrites is how long a reader that does read has for what is printed after an interrupt.
const lastWrites = time.Second

// An Output is a file made by Create.
type Output struct {
	f *os.File
	// made: there was none before. regular: it is no pipe or device.
	made, regular bool
	// stop ends the watch of the context, nil for a regular file.
	stop  func() bool
	mu    sync.Mutex
	begun bool
}

// create opens the file.
func create(name string) (*Output, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	made := err == nil
	if errors.Is(err, fs.ErrExist) {
		f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666) // A link may lead to nothing.
	}
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Output{f: f, made: made, regular: st.Mode().IsRegular()}, nil
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.begun && o.regular {
		if err := o.f.Truncate(0); err != nil {
			return 0, err
		}
	}
	o.begun = true
	return o.f.Write(p)
}

// Close implements io.Closer.
func (o *Output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stop != nil {
		o.stop()
	}
	err := o.f.Close()
	if o.made && !o.begun {
		err = errors.Join(err, os.Remove(o.f.Name()))
	}
	return err
}
