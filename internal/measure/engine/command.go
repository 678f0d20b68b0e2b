package engine

import (
	"context"
	"io"
	"os/exec"
	"strings"
	"time"
)

// Command returns a runtime's command. When ctx is over it is killed with all that it started: a script's child would
// otherwise keep its output open.
func Command(ctx context.Context, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error { killGroup(cmd.Process); return nil }
	cmd.WaitDelay = time.Second
	return cmd
}

// mostWords is how many bytes of a runtime's output are kept. A program that isn't a runtime may print without end.
const mostWords = 64 << 10

// FirstBytes is a writer that keeps the first mostWords bytes.
type FirstBytes struct {
	// Kept is what was written so far, up to mostWords bytes.
	Kept []byte
	// Enough makes Write fail when nothing more is kept. The program's pipe is then closed.
	Enough bool
}

// Write implements io.Writer.
func (f *FirstBytes) Write(p []byte) (int, error) {
	n := min(len(p), mostWords-len(f.Kept))
	f.Kept = append(f.Kept, p[:n]...)
	if n < len(p) && f.Enough {
		return n, io.ErrShortWrite
	}
	return len(p), nil
}

// FirstLine shortens a runtime's message to one line that fits into a table.
func FirstLine(s string) string {
	s = strings.TrimSpace(s)
	line, _, _ := strings.Cut(s, "\n")
	return line
}
