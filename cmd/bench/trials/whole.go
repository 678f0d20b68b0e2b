package trials

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/goal"
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

// timeWhole does a run with its state in a folder of its own and its report beside that, and prints how long
// it took beside the goal. A run that didn't come to its end has no time.
func timeWhole(ctx context.Context, stdout io.Writer, w whole, program, docker, state string) (time.Duration, error) {
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
	took := time.Since(begin)
	what := w.name
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == cellsFailed:
		what += ", in which cells failed"
	case err != nil:
		return 0, fmt.Errorf("%s %s: %w: %s", program, strings.Join(w.args, " "), err, clean.Line(tail.LastWords(talk.String())))
	}
	_, err = fmt.Fprintln(stdout, goal.Took(what, took, w.most))
	return took, err
}
