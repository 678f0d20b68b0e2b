package row

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
)

// at is a session that knows only the path of its data.
type at struct {
	engine.Session
	path string
}

func (a at) Info() engine.Info { return engine.Info{HostPath: a.path} }

// TestFlushPipe: another user of the volume has put a named pipe in place of the scratch folder. That is an error at once; flush used to
// wait for it without end. The folder itself is flushed.
func TestFlushPipe(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	request := func(path string) Request { return Request{Agent: &agent.Agent{Session: at{path: path}}} }
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- request(pipe).flush(ctx) }()
	select {
	case err := <-done:
		if !errors.Is(err, syscall.ENOTDIR) || !strings.Contains(err.Error(), "the scratch folder: ") {
			t.Errorf("flush of a pipe = %v", err)
		}
	case <-ctx.Done():
		t.Error("flush waits for the other end of a pipe")
		// Its other end lets it go.
		if f, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			f.Close()
		}
		<-done
	}
	if err := request(dir).flush(ctx); err != nil {
		t.Errorf("flush of a folder = %v", err)
	}
}
