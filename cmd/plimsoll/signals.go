package main

import (
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
)

// stopSignals are what asks plimsoll to end: Ctrl-C, kill, and the end of its terminal, unless
// nohup(1) took care that this one doesn't count.
func stopSignals() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// ignoreClosedPipes makes writing to a standard output or error without a reader an
// error of that write. Go's way is to end the program on the spot (os/signal, "SIGPIPE"), which
// would leave containers and folders. The signal is taken, not ignored: children
// would inherit that.
func ignoreClosedPipes() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// nobodyReads reports whether err is that the reader of standard output has gone, as
// that of 'plimsoll results ls | head -1' does. Other broken pipes are news.
func nobodyReads(err error) bool {
	var p *fs.PathError
	return errors.Is(err, syscall.EPIPE) && errors.As(err, &p) && p.Path == os.Stdout.Name()
}
