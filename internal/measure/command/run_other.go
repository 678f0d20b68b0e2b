//go:build !linux

package command

import (
	"context"
	"os"
	"os/exec"
	"time"
)

// runToEnd runs a command until it has ended; when ctx is done, it is killed.
func runToEnd(ctx context.Context, cmd *exec.Cmd) error {
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
			_ = cmd.Process.Kill()
		case <-done:
		}
	}()
	defer close(done)
	return cmd.Wait()
}

// signalOf returns "": on this system the exit status says everything about a process's end.
func signalOf(*os.ProcessState) string { return "" }

// ownBytes is unknown on this system.
func ownBytes() (read, written int64, ok bool) { return 0, 0, false }
