// Package key reads the key of an encrypted volume from where its profile says: a file, or a command that prints it.
//
// A key is bytes. All of them count, also a newline at the end, so that "cryptsetup open --key-file FILE" opens the volume by hand.
//
// The mistake easily made is to show a key. Errors name the source, never what was read. The text of the command isn't shown either,
// since a careless one has a password in it.
package key

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

const (
	// Least is the least length of a key in bytes. A short one could be guessed: opening a volume is quick on purpose.
	Least = 16
	// Most is the greatest length of a key in bytes.
	Most = 4096
)

// A Source says where a key comes from: one of both. With neither, there is no key, and nothing is encrypted.
type Source struct{ File, Command string }

// None reports whether there is no key.
func (s Source) None() bool { return s == Source{} }

// String names the source.
func (s Source) String() string {
	if s.File != "" {
		return "the key file " + s.File
	}
	return "the key command of the profile (service.encryption.key_command)"
}

// Read returns the key. The caller overwrites it with clear when it was used.
func (s Source) Read(ctx context.Context) ([]byte, error) {
	if s.None() {
		return nil, errors.New("there is no source of a key")
	}
	// One buffer for all: a growing one would leave copies of the key in memory.
	buffer := make([]byte, Most+1)
	read := s.print
	if s.File != "" {
		read = s.load
	}
	n, err := read(ctx, buffer)
	switch {
	case err != nil:
	case n < Least:
		err = fmt.Errorf("it has %d bytes: %d are the least, and random ones, as from head -c 32 /dev/urandom", n, Least)
	case n > Most:
		err = fmt.Errorf("it has more than %d bytes", Most)
	}
	if err != nil {
		clear(buffer)
		return nil, fmt.Errorf("%s: %w", s, err)
	}
	return buffer[:n:n], nil
}

// load reads the file.
func (s Source) load(_ context.Context, buffer []byte) (int, error) {
	f, err := open(s.File)
	if err != nil {
		return 0, cause(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return 0, cause(err)
	}
	if !st.Mode().IsRegular() {
		return 0, errors.New("it is no regular file")
	}
	if mode := st.Mode().Perm(); mode&0o007 != 0 {
		return 0, fmt.Errorf("every user may open it (mode %04o): chmod 600 %s", mode, s.File)
	}
	return fill(f, buffer)
}

// fill reads as much as there is, and as the buffer holds.
func fill(r io.Reader, buffer []byte) (int, error) {
	n, err := io.ReadFull(r, buffer)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}

// cause is an error without the path, which the source has.
func cause(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
