// Command plimsoll measures container storage, holds containers to their limits,
// and provides volumes that keep what they promise.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	ignoreClosedPipes()
	// Plimsoll itself doesn't use it, but net/http logs whatever a stranger sends to a socket.
	log.SetOutput(io.Discard)
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	ctx, stop := a.interrupts(context.Background())
	status := a.run(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}

// interrupts returns a context that the first interrupt ends: what runs is stopped, cleaned up and kept. A second
// interrupt ends a.hard: cleaning up must be quick. A third kills plimsoll the usual way; the next start removes what
// it left.
//
// Each of the first two is answered with a line, because a user who sees no answer presses again. Until the first one
// is handled, the kernel and Go's runtime merge two interrupts into one; interrupts merges two SIGTERM within
// sameInterrupt. A hangup is not an interrupt if a.hangup handles it.
func (a *app) interrupts(ctx context.Context) (context.Context, func()) {
	ctx, soft := context.WithCancel(ctx)
	var hard context.CancelFunc
	quiet := &atomic.Bool{}
	a.quiet = quiet
	a.hard, hard = context.WithCancel(context.Background())
	a.hangup = new(atomic.Pointer[func()])
	signals := make(chan os.Signal, 3)
	signal.Notify(signals, stopSignals()...)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, step := range []struct {
			cancel func()
			words  string
		}{{soft, onceInterrupted}, {hard, twiceInterrupted}} {
			sig, ok := <-signals
			for ok && sig == syscall.SIGHUP {
				reload := a.hangup.Load() // Once: a daemon that ends removes it.
				if reload == nil {
					break
				}
				(*reload)()
				sig, ok = <-signals
			}
			if !ok {
				return
			}
			// First, because a stopped terminal holds up the message.
			step.cancel()
			if !quiet.Load() {
				newProgress(a.stderr).Note(step.words)
			}
			if sig != os.Interrupt && !oneInterrupt(signals) {
				return
			}
		}
		signal.Reset(stopSignals()...)
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		<-done
		soft()
		hard()
	}
}

// sameInterrupt is how long after a SIGTERM or SIGHUP another signal counts as the same interrupt: timeout(1) signals
// its command and then its whole process group. Each SIGINT counts by itself, as a key pressed at a terminal.
const sameInterrupt = 50 * time.Millisecond

// oneInterrupt receives the signals that belong to one interrupt. It returns false if no more will come.
func oneInterrupt(signals <-chan os.Signal) bool {
	for over := time.After(sameInterrupt); ; {
		select {
		case _, ok := <-signals:
			if !ok {
				return false
			}
		case <-over:
			return true
		}
	}
}

// The answers to the first two interrupts.
const (
	onceInterrupted  = "interrupted: finishing up; interrupt once more to stop at once"
	twiceInterrupted = "interrupted twice: stopping at once; a third time leaves the rest to the next run"
)
