// Package controlfile reads the files that control a program, such as a policy or a configuration, and refuses all
// but regular files.
//
// Another kind of file in their place must not stop the program: opening a named pipe waits
// for its other end, a terminal or a device may block for ever or never end, and opening some devices has
// an effect. So only regular files are opened, and each is read up to a maximum size. The package userfile reads the files
// that may be pipes.
package controlfile

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// An Error is why an existing file isn't read: it is not a regular file, or too large.
type Error struct {
	// Path is the file's path; Why completes a sentence that begins with it.
	Path, Why string
}

// Error implements error.
func (e *Error) Error() string { return e.Path + " " + e.Why }

// Open opens a regular file, or a link to one, for reading, and never blocks. The error is an *Error for other kinds.
func Open(path string) (*os.File, error) {
	// A device isn't even opened: opening may be enough to rewind a tape.
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := check(path, info); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|atOnce, 0)
	if err != nil {
		return nil, err
	}
	// Another file may have replaced it since.
	if info, err = f.Stat(); err == nil {
		err = check(path, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Read reads a regular file of at most limit bytes. The error is an *Error for one that is larger, and for other kinds.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, &Error{path, fmt.Sprintf("is larger than %d bytes, the most that is read of it", limit)}
	}
	return b, nil
}

func check(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	kind := "special file"
	switch m := info.Mode(); {
	case m.IsDir():
		kind = "directory"
	case m&fs.ModeNamedPipe != 0:
		kind = "named pipe"
	case m&fs.ModeSocket != 0:
		kind = "socket"
	case m&fs.ModeDevice != 0:
		kind = "device"
	}
	return &Error{path, "is a " + kind + ", and only a regular file is read here"}
}
