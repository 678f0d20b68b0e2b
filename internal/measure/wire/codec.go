package wire

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"
)

// A Writer writes messages. Its Send may be called from several goroutines.
type Writer struct {
	mu sync.Mutex
	w  io.Writer
}

// NewWriter returns a Writer on w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Send writes one message as one line, in one write.
func (w *Writer) Send(m Message) error {
	b, err := m.encode()
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	return w.SendLine(b)
}

// SendLine writes a message that is already encoded, without its newline. If it is too long for a Reader, it returns an
// error and writes nothing.
func (w *Writer) SendLine(line []byte) error {
	if len(line) >= MaxLine {
		return fmt.Errorf("a message of %d bytes is longer than %d", len(line), MaxLine)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	buf := make([]byte, 0, len(line)+1)
	buf = append(append(buf, line...), '\n')
	if _, err := w.w.Write(buf); err != nil {
		return fmt.Errorf("write message: %w", err)
	}
	return nil
}

// A Reader reads messages. It belongs to one goroutine.
type Reader struct {
	// SealedResults leaves results undecoded. Message.Result is set but empty, for a caller that passes on the line.
	SealedResults bool

	s *bufio.Scanner
}

// NewReader returns a Reader on r.
func NewReader(r io.Reader) *Reader {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), MaxLine)
	return &Reader{s: s}
}

// Next returns the next message and its line, which is valid until the next call. It returns io.EOF at the end. A line
// that is not exactly one message is an error that quotes the beginning of the line: a worker whose container prints
// something else can't be trusted. Empty lines are skipped.
func (r *Reader) Next() (Message, []byte, error) {
	for r.s.Scan() {
		line := r.s.Bytes()
		if len(line) == 0 {
			continue
		}
		sealed := ""
		if r.SealedResults {
			sealed = "result"
		}
		m, err := decode(line, sealed)
		if err != nil {
			return Message{}, line, fmt.Errorf("not a message: %.80q: %w", line, err)
		}
		return m, line, nil
	}
	err := r.s.Err()
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return Message{}, nil, fmt.Errorf("a message is longer than %d bytes", MaxLine)
	case err != nil:
		return Message{}, nil, fmt.Errorf("read message: %w", err)
	}
	return Message{}, nil, io.EOF
}
