package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"plimsoll/internal/measure/worker"
)

// machine is the first process of a virtual machine. No other process may run it, because it mounts file systems and
// turns the machine off.
func machine(ctx context.Context, modules []string) error {
	if os.Getpid() != 1 {
		return errors.New("init: this is no virtual machine of plimsoll's")
	}
	status := 0
	if err := worker.Machine(ctx, "/init", modules); err != nil {
		fmt.Fprintf(os.Stderr, "plimsoll: %v\n", err)
		status = 1
	}
	worker.TurnOff(status)
	return nil
}
