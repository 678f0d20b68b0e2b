package oci

import (
	"os"
	"testing"
	"time"

	"plimsoll/internal/measure/engine"
)

// TestInfoWaitsForThePID: the runtime may write the pid after the worker's hello.
func TestInfoWaitsForThePID(t *testing.T) {
	b := newBundle(t.TempDir(), "worker", engine.Spec{ID: "x"})
	s := &session{Process: &engine.Process{Waited: make(chan struct{})}, bundle: b, pidWait: time.Hour}
	go func() {
		time.Sleep(20 * time.Millisecond)
		_ = os.WriteFile(b.pidFile()+".new", []byte("4711\n"), 0o600)
		_ = os.Rename(b.pidFile()+".new", b.pidFile())
	}()
	if got := s.Info().PID; got != 4711 {
		t.Errorf("Info().PID = %d, want the one that comes a moment later", got)
	}
	late := &session{Process: &engine.Process{Waited: make(chan struct{})}, bundle: newBundle(t.TempDir(), "worker", engine.Spec{ID: "z"}), pidWait: time.Millisecond}
	if got := late.Info().PID; got != 0 {
		t.Errorf("Info().PID = %d, want 0 where none comes", got)
	}
	// A container that has ended will have none.
	ended := &session{Process: &engine.Process{Waited: make(chan struct{})}, bundle: newBundle(t.TempDir(), "worker", engine.Spec{ID: "y"})}
	close(ended.Waited)
	if got := ended.Info().PID; got != 0 {
		t.Errorf("Info().PID = %d of a container that ended before it had one", got)
	}
}
