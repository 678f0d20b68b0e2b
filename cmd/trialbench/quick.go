package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"plimsoll/internal/clean"
	"plimsoll/internal/goal"
	"plimsoll/internal/tail"
)

// mostQuick is how long 'plimsoll run --quick' may take on two cores.
const mostQuick = 90 * time.Second

// cellsFailed is plimsoll's exit status for a run that is done with failed cells.
const cellsFailed = 3

// timeQuick runs the default plan quickly, with its state in a folder of its own, and prints how long
// it took beside the goal. A run that didn't come to its end has no time.
func timeQuick(ctx context.Context, stdout io.Writer, program, docker, state string) error {
	cmd := exec.CommandContext(ctx, program, "run", "--quick", "--state", state)
	if docker != "" {
		cmd.Env = append(os.Environ(), "DOCKER_HOST="+docker)
	}
	var talk bytes.Buffer
	cmd.Stderr = &talk
	begin := time.Now()
	err := cmd.Run()
	took := time.Since(begin)
	what := "plimsoll run --quick"
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == cellsFailed:
		what += ", in which cells failed"
	case err != nil:
		return fmt.Errorf("%s run --quick: %w: %s", program, err, clean.Line(tail.LastWords(talk.String())))
	}
	_, err = fmt.Fprintln(stdout, goal.Took(what, took, mostQuick))
	return err
}
