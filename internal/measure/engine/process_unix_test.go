//go:build unix

package engine

import (
	"context"
	"testing"
	"time"
)

// TestKillWithoutALook: where a child's end can't be looked at without giving its number
// away, as on macOS, a worker that hangs is killed all the same, and Close comes to its end.
func TestKillWithoutALook(t *testing.T) {
	p, err := StartProcess([]string{"sleep", "600"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Cmd.Process.Kill()
	p.mu.Lock()
	p.reaped = true // What wait says there from the start.
	p.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		p.End(ctx, time.Minute)
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the child was not killed")
	}
	if got := ExitWords(p.WaitErr); got != "killed by signal killed" {
		t.Errorf("it ended with %q", got)
	}
}
