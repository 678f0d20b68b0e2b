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
	"plimsoll/internal/text/tail"
)

// A whole is a run of the default plan that is timed from its start to its end.
type whole struct {
	// name is how a user starts it, args are plimsoll's; with report, they make it write its page too.
	name   string
	args   []string
	report bool
	// most is how long it may take on two cores.
	most time.Duration
}

// The quick run, and all of it: what make run does once everything is built.
var (
	quickRun = whole{"plimsoll run --quick", []string{"run", "--quick"}, false, 90 * time.Second}
	fullRun  = whole{"make run, once built", []string{"run"}, true, 6 * time.Minute}
)

// cellsFailed is plimsoll's exit status for a run that is done with failed cells.
const cellsFailed = 3

// timeWholes times the runs that are asked for. Those that came to their end have a figure, also where a later one fails.
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

// timeWhole does a run with its state in a folder of its own and its report beside that. Its figure is how long
// that took. A run that didn't come to its end has none.
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
		return f, fmt.Errorf("%s %s: %w: %s", program, strings.Join(w.args, " "), err, clean.Line(tail.LastWords(talk.String())))
	}
	return f, nil
}
