package main

import (
	"io"
	"sync"
)

// An outputFile is standard output that keeps its first error: data that got lost is no success, even if the
// writer ignored the error.
type outputFile struct {
	w  io.Writer
	mu sync.Mutex
	// err is the first error of a write.
	err error
}

// Write implements io.Writer.
func (o *outputFile) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = err
		}
	}
	return n, err
}

// lost returns the first error.
func (o *outputFile) lost() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
