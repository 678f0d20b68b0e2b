// Package tail keeps the last words of a program.
package tail

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
	// torn is set once something was dropped.
	torn bool
}

// Write implements io.Writer; it never fails.
func (t *Buffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.Max; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
		t.torn = true
	}
	return len(p), nil
}

// String returns what is kept, without a first line that was torn.
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
