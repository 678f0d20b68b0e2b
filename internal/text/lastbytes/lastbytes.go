// Package lastbytes keeps the last bytes of a program's output, for error messages.
package lastbytes

import (
	"strings"
	"sync"
)

// A Buffer is a writer that keeps the last Max bytes. It may be used from several
// goroutines.
type Buffer struct {
	// Max is in bytes.
	Max int

	mu  sync.Mutex
	buf []byte
	// torn is set while buf begins in the middle of a line.
	torn bool
}

// Write implements io.Writer; it never fails.
func (t *Buffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if over := len(p) - t.Max; over > 0 {
		// Nothing of the old content remains, and a huge p is not copied in full.
		t.torn = p[over-1] != '\n'
		t.buf = append(t.buf[:0], p[over:]...)
		return n, nil
	}
	if over := len(t.buf) + len(p) - t.Max; over > 0 {
		t.torn = t.buf[over-1] != '\n'
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	t.buf = append(t.buf, p...)
	return n, nil
}

// String returns the kept bytes, without an incomplete first line.
func (t *Buffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := string(t.buf)
	if t.torn {
		if _, rest, ok := strings.Cut(s, "\n"); ok {
			s = rest
		}
	}
	return strings.TrimRight(s, "\n")
}
