package durability

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"plimsoll/internal/text/usage"
)

// openJournal creates the journal of o, which is also kept in buffer: a new file, stdout for "-", and only the buffer
// for "". The returned function closes the file, and removes it if it is empty, so that it is not in the way of the
// next.
func openJournal(name string, stdout io.Writer, o *Options, buffer *journalBuffer) (closeFile func() error, err error) {
	o.Journal = buffer
	switch name {
	case "":
		return func() error { return nil }, nil
	case "-":
		o.Journal = io.MultiWriter(buffer, stdout)
		return func() error { return nil }, nil
	}
	if abs, err := filepath.Abs(name); err == nil && abs == o.Path {
		return nil, usage.Errorf("--journal: %s is the file to write: keep the journal elsewhere", name)
	}
	j, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, usage.Errorf("--journal: %w", err)
	}
	o.Journal = io.MultiWriter(buffer, syncedFile{j})
	return func() error {
		err := j.Close()
		if buffer.first == nil {
			err = errors.Join(err, os.Remove(name))
		}
		return err
	}, nil
}

// journalBuffer keeps the first and the last line of a journal, which is enough to check a run that reached its end.
type journalBuffer struct{ first, last []byte }

// Write implements io.Writer; each call is one line.
func (j *journalBuffer) Write(p []byte) (int, error) {
	if j.first == nil {
		j.first = bytes.Clone(p)
	} else {
		j.last = append(j.last[:0], p...)
	}
	return len(p), nil
}

func (j *journalBuffer) reader() io.Reader {
	return io.MultiReader(bytes.NewReader(j.first), bytes.NewReader(j.last))
}

// syncedFile is a file whose writes are on stable storage when they return: the journal must not be ahead of the data,
// but must not be lost with it either.
type syncedFile struct{ f *os.File }

func (s syncedFile) Write(p []byte) (int, error) {
	n, err := s.f.Write(p)
	return n, errors.Join(err, s.f.Sync())
}
