// Command plimsoll measures container storage, holds containers to their
// limits, and provides volumes that keep what they promise.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
)

func main() {
	ignoreClosedPipes()
	// Nobody here writes to it; net/http does, whatever a stranger on a socket sent.
	log.SetOutput(io.Discard)
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	ctx, stop := a.interrupts(context.Background())
	status := a.run(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}

// interrupts returns a context that the first interrupt ends: what runs is
// stopped, cleaned up and kept. A second one ends a.hard: cleaning up must be quick. A
// third kills plimsoll the usual way; the next start removes what it left.
func (a *app) interrupts(ctx context.Context) (context.Context, func()) {
	ctx, soft := context.WithCancel(ctx)
	var hard context.CancelFunc
	a.hard, hard = context.WithCancel(context.Background())
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, stopSignals()...)
	go func() {
		for _, cancel := range []func(){soft, hard} {
			if _, ok := <-signals; !ok {
				return
			}
			cancel()
		}
		signal.Reset(stopSignals()...)
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		soft()
		hard()
	}
}
