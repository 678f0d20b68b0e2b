package userfile

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// ErrBlockDevice is the refusal to write output to a block device, which holds a file system or data.
var ErrBlockDevice = errors.New("is a block device, which is never printed to; name a file")

// IsBlockDevice reports whether st is that of a block device.
func IsBlockDevice(st fs.FileInfo) bool {
	return st.Mode()&(fs.ModeDevice|fs.ModeCharDevice) == fs.ModeDevice
}

// Create opens a file for a command's output before the command does its work. Existing content stays until Close,
// which replaces it if anything was written and there is space. Close removes a new file that can't be filled, or was
// never written to. Create waits for the reader of a named pipe until ctx ends, and then returns ctx's cause; if a
// reader stops reading, writes fail a moment after the end of ctx with os.ErrDeadlineExceeded. A block device is
// refused with ErrBlockDevice, before it is opened.
func Create(ctx context.Context, name string) (*Output, error) {
	// Close may come after a change of the current folder.
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

// await returns the result of open, unless ctx ends before. A file that is opened later is closed.
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
			// A file without deadlines, such as a device, doesn't wait for a reader.
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

// lastWrites is how long a reader may take for output after an interrupt.
const lastWrites = time.Second

// An Output is a file made by Create.
type Output struct {
	f *os.File
	// made is set if Create made the file, and regular if it is a regular file: not a pipe or a device.
	made, regular bool
	// stop ends the watch of the context, nil for a regular file.
	stop  func() bool
	mu    sync.Mutex
	begun bool
	text  bytes.Buffer // what a regular file is to hold
}

// create opens the file.
func create(name string) (*Output, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	made := err == nil
	if errors.Is(err, fs.ErrExist) {
		if st, err := os.Stat(name); err == nil && IsBlockDevice(st) {
			return nil, &fs.PathError{Op: "write", Path: name, Err: ErrBlockDevice}
		}
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
	o.begun = true
	if o.regular {
		return o.text.Write(p)
	}
	return o.f.Write(p)
}

// replace makes text the content of a file, or leaves the old content if there is no space for both. The file stays
// the same: its owner, mode and links.
func replace(f *os.File, text []byte) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	// Written after the old content first.
	if _, err := f.WriteAt(text, st.Size()); err != nil {
		return errors.Join(err, f.Truncate(st.Size()))
	}
	if st.Size() == 0 {
		return nil
	}
	if _, err := f.WriteAt(text, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(text)))
}

// Close implements io.Closer.
func (o *Output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stop != nil {
		o.stop()
	}
	var err error
	if o.regular && o.begun {
		err = replace(o.f, o.text.Bytes())
	}
	err = errors.Join(err, o.f.Close())
	if o.made && (!o.begun || err != nil) {
		err = errors.Join(err, os.Remove(o.f.Name()))
	}
	return err
}
