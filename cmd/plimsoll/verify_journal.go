package main

import (
	"bytes"
	"io"
)

// journalBuffer keeps of a journal its first line and its last, which is all that a
// check of a run that got to its end needs.
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
