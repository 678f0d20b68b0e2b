package engine

import (
	"context"
	"io"
	"os/exec"
	"strings"
	"time"
)

// Command is a runtime's command that is killed with all that it started when ctx is over:
// a script's child would hold its output open for ever.
func Command(ctx context.Context, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = ownGroup()
	cmd.Cancel = func() error { killGroup(cmd.Process); return nil }
	cmd.WaitDelay = time.Second
	return cmd
}

// mostWords is how much of what a runtime says is kept, in bytes: a program that isn't one
// may talk without an end.
const mostWords = 64 << 10

// FirstBytes is a writer that keeps the first mostWords bytes.
type FirstBytes struct {
	// Kept is what there is so far.
	Kept []byte
	// Enough makes Write fail when no more is kept: the program's pipe is closed then.
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

// FirstLine cuts a runtime's message to what a table has room for.
func FirstLine(s string) string {
	s = strings.TrimSpace(s)
	line, _, _ := strings.Cut(s, "\n")
	return line
}
