package userfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteWhole writes a regular file whole or not at all, and keeps the mode of an existing one. Other kinds of files,
// such as a terminal or a pipe, are written to and never replaced, except for a block device, which is refused with
// ErrBlockDevice. It waits for a pipe's reader until ctx ends. Errors name path, not the temporary file beside it.
func WriteWhole(ctx context.Context, path string, write func(io.Writer) error) error {
	fail := func(err error) error { return fmt.Errorf("write %s: %w", path, Reason(err)) }
	mode := fs.FileMode(0o644)
	target := path
	switch st, err := os.Stat(path); {
	case err == nil && st.IsDir():
		return fmt.Errorf("write %s: it is a folder: name a file in it", path)
	case err == nil && IsBlockDevice(st):
		return fmt.Errorf("write %s: it %w", path, ErrBlockDevice)
	case err == nil && !st.Mode().IsRegular():
		return writeInto(ctx, path, write)
	case err == nil:
		mode = st.Mode().Perm()
		// A link stays; its target is replaced.
		if target, err = filepath.EvalSymlinks(path); err != nil {
			return fail(err)
		}
	}
	tmp, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+"-*")
	if err != nil {
		return fail(err)
	}
	defer os.Remove(tmp.Name())
	err = write(tmp)
	if err == nil {
		err = tmp.Chmod(mode)
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), target)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// writeInto writes to a file that is not regular.
func writeInto(ctx context.Context, path string, write func(io.Writer) error) error {
	f, err := Create(ctx, path)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("write %s: interrupted before any program read it", path)
	}
	if err == nil {
		err = write(f)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, Reason(err))
	}
	return nil
}

// Reason is an error without the name of the file that it is about.
func Reason(err error) error {
	var file *fs.PathError
	var files *os.LinkError
	switch {
	case errors.As(err, &file):
		return file.Err
	case errors.As(err, &files):
		return files.Err
	}
	return err
}
