package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// runChild runs a command as a child, and ends this process with the child's status, as a shell does. When the first
// process of a PID namespace ends, for whatever reason, all other processes in it end too. That bounds a server that
// would not end by itself.
func runChild(path string, argv []string) error {
	cmd := exec.Command(path, argv[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err := cmd.Run()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		return fmt.Errorf("run %s: %w", path, err)
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		os.Exit(128 + int(ws.Signal()))
	}
	os.Exit(cmd.ProcessState.ExitCode())
	return nil
}
