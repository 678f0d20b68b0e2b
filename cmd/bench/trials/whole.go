package trials

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/cmd/bench/figure"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/lastbytes"
)

// A whole is a run of the default plan that is timed from start to end.
type whole struct {
	// name is the command as a user types it; args are plimsoll's arguments. With report, plimsoll also writes its
	// page.
	name   string
	args   []string
	report bool
	// most is the maximum time on two cores.
	most time.Duration
}

// The quick run, and the full run, as make run does it once everything is built.
var (
	quickRun = whole{"plimsoll run --quick", []string{"run", "--quick"}, false, 90 * time.Second}
	fullRun  = whole{"make run, once built", []string{"run"}, true, 6 * time.Minute}
)

// cellsFailed is plimsoll's exit status for a finished run with failed cells.
const cellsFailed = 3

// timeWholes times the requested runs. Runs that ended have a figure even if a later run fails.
func timeWholes(ctx context.Context, o options, state string) (all []figure.Figure, err error) {
	for _, w := range []struct {
		whole
		program, folder string
	}{{quickRun, o.quick, "quick"}, {fullRun, o.full, "full"}} {
		if w.program == "" {
			continue
		}
		f, err := timeWhole(ctx, w.whole, w.program, o.docker, filepath.Join(state, w.folder))
		if err != nil {
			return all, err
		}
		all = append(all, f)
	}
	if o.quick == "" {
		return all, nil
	}
	plans, err := timePlans(ctx, o, state)
	return append(all, plans...), err
}

// timeWhole does a run with its state in a folder of its own and its report beside that. The figure is the time of the
// run. A run that didn't end has none.
func timeWhole(ctx context.Context, w whole, program, docker, state string) (figure.Figure, error) {
	args := append(slices.Clone(w.args), "--state", state)
	if w.report {
		args = append(args, "--out", filepath.Dir(state))
	}
	cmd := exec.CommandContext(ctx, program, args...)
	if docker != "" {
		cmd.Env = append(os.Environ(), "DOCKER_HOST="+docker)
	}
	var talk bytes.Buffer
	cmd.Stderr = &talk
	begin := time.Now()
	err := cmd.Run()
	f := duration(w.name, []time.Duration{time.Since(begin)}, w.most)
	f.Unit = figure.Seconds
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == cellsFailed:
		f.Note = "cells failed"
	case err != nil:
		return f, fmt.Errorf("%s %s: %w: %s", program, strings.Join(w.args, " "), err, clean.Line(lastbytes.LastWords(talk.String())))
	}
	return f, nil
}
