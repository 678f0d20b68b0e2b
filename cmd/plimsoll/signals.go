package main

import (
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
)

// stopSignals returns the signals that ask plimsoll to end: Ctrl-C, kill, and the end of its terminal, unless nohup(1)
// has disabled the last.
func stopSignals() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// ignoreClosedPipes makes writing to a standard output or error without a reader an error of that write. By default Go
// ends the program at once (os/signal, "SIGPIPE"), which would leave containers and folders behind. The signal is
// caught, not ignored, because children would inherit that.
func ignoreClosedPipes() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// nobodyReads reports whether err says that the reader of standard output has gone, as in 'plimsoll results ls | head
// -1'. Other broken pipes are real errors.
func nobodyReads(err error) bool {
	var p *fs.PathError
	return errors.Is(err, syscall.EPIPE) && errors.As(err, &p) && p.Path == os.Stdout.Name()
}
