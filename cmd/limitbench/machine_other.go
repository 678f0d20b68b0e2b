//go:build !linux

package main

// machine has no control groups where there is no Linux.
func machine(int) (*place, func() error, error) {
	return nil, nil, errSkip("there are no control groups on this system")
}

// newMemoryBed has no control groups where there is no Linux.
func newMemoryBed(int) (bed, error) {
	return nil, errSkip("there are no control groups on this system")
}
