// The sleeper is the program of containers of tests: it waits until it is killed.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// The first process of a container ignores every signal that it has no handler for.
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	<-end
}
