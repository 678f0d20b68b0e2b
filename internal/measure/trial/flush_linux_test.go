package trial

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/measure/agent"
	"plimsoll/internal/measure/engine"
	"plimsoll/internal/measure/workload"
	"plimsoll/load"
)

// inFolder is a session that knows only the folder of its data.
type inFolder struct {
	engine.Session
	path string
}

func (s inFolder) Info() engine.Info { return engine.Info{HostPath: s.path} }

// TestFlushPipe: a named pipe that another user of the place has put where a session's folder was leaves the syncing to the
// workers; it was waited for without end.
func TestFlushPipe(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	spec := workload.Spec{Kind: workload.Block, Job: load.Job{RW: load.Write}}
	open := func(path string) *flush {
		a := &attempt{flush: true, agents: []*agent.Agent{{Session: inFolder{path: path}}}}
		return a.openFlush(spec)
	}
	opened := make(chan *flush, 1)
	go func() { opened <- open(pipe) }()
	select {
	case f := <-opened:
		if f != nil {
			t.Errorf("a pipe is flushed: %v", f.folders)
		}
	case <-time.After(time.Minute):
		t.Error("openFlush waits for the other end of a pipe")
		// Its other end lets it go.
		if f, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			f.Close()
		}
		(<-opened).close()
	}
	f := open(dir)
	defer f.close()
	if f == nil || len(f.folders) != 1 || workload.SyncFS(f.folders[0]) != nil {
		t.Errorf("openFlush of a folder = %+v", f)
	}
}
