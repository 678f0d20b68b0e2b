// Command plimsoll measures container storage, holds containers to their
// limits, and provides volumes that keep what they promise.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// A first signal cancels the context: what runs is stopped, cleaned up and
	// kept. run's own handler turns a second one into an immediate end.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	os.Exit(a.run(ctx, os.Args[1:]))
}
