//go:build unix

package dd

import (
	"os"
	"os/signal"
	"syscall"
)

// questions delivers the signals that ask for dd's lines in the middle of a run (SIGUSR1), until stop.
func questions() (asked <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	return c, func() { signal.Stop(c) }
}
