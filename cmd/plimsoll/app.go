package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/spf13/cobra"

	"plimsoll/internal/container/target"
	"plimsoll/internal/measure/engines"
	"plimsoll/internal/measure/verify/row"
	"plimsoll/internal/state/journal"
	"plimsoll/internal/state/paths"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/layout"
	"plimsoll/internal/text/usage"
)

// app is the outside world of the command, so that tests can replace it.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	// env looks up the environment variables that locate daemons, such as DOCKER_HOST, and paths.MachineVar. nil:
	// os.Getenv.
	env func(string) string
	// stateDir holds the database and Plimsoll's own data folders.
	stateDir string
	// hard is cancelled by a second interrupt: cleaning up must then be quick. nil: never.
	hard context.Context
	// hangup is called for SIGHUP, if it is set; a daemon reads its configuration again. nil if no command listens for
	// the signal.
	hangup *atomic.Pointer[func()]
	// targets says where to look for containers. nil: the usual places of this machine.
	targets *target.Options
	// try measures the rows of limit verify. nil: row.Run.
	try func(context.Context, row.Request) ([]row.Row, error)
	// quiet is set while an interrupt is the normal way to end a command and needs no message. nil: interrupts are not
	// answered.
	quiet *atomic.Bool
}

// hardContext returns hard, or a context that never ends.
func (a *app) hardContext() context.Context {
	if a.hard == nil {
		return context.Background()
	}
	return a.hard
}

// engines returns a source of engines as configured by the command line and the environment.
func (a *app) engines() engines.Source {
	return engines.Source{State: a.stateDir, Machine: a.machine(), Env: a.env, Say: func(text string) { fmt.Fprintln(a.stderr, text) }}
}

// exitError is an error with an exit status of its own.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// ExitStatus returns the exit status of the command.
func (e *exitError) ExitStatus() int { return e.status }

// usageError makes an error of usage, with exit status 2, as usage.Errorf does. usageError("%w", err) makes one of err.
func usageError(format string, args ...any) error {
	return usage.Errorf(format, args...)
}

// run executes one command line and returns the exit status.
func (a *app) run(ctx context.Context, args []string) int {
	out := &outputFile{w: a.stdout}
	a.stdout = out
	root := a.rootCommand()
	root.SetArgs(a.plain(args))
	err := together(root.ExecuteContext(journal.OnWait(ctx, func(whom string) {
		fmt.Fprintf(a.stderr, "plimsoll: waiting for %s\n", clean.Text(whom))
	})))
	if err == nil {
		err = out.lost()
	}
	if err == nil {
		return exitDone
	}
	if nobodyReads(err) {
		return exitFailure // The reader closed it, having seen enough.
	}
	fmt.Fprintf(a.stderr, "plimsoll: %s\n", clean.Text(err.Error()))
	return statusOf(err)
}

// statusOf returns the exit status for an error.
func statusOf(err error) int {
	var own interface{ ExitStatus() int }
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &own):
		return own.ExitStatus()
	case errors.Is(err, errors.ErrUnsupported): // The kernel's answer, or that of a system that is not Linux.
		return exitCannot
	}
	return exitFailure
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "plimsoll",
		Short: "Measure, limit and provide container storage",
		Long: `Plimsoll measures each place in which a container may keep its data: its own
layer, a bind mount, a volume, memory, or a plain folder of the host. It prints
what each place costs, and how sure that is. It holds containers to limits, and
proves by measuring that they hold. It provides volumes that keep what their
profile promises.

Is storage slow in containers here?
  plimsoll doctor        shows what this machine can measure
  plimsoll run --quick   takes three quarters of a minute: large differences only
  plimsoll run           takes about five minutes, enough to prove differences
  plimsoll run --path .  the same in this folder
  plimsoll check .       is it safe to keep a database here?

Do limits hold?
  plimsoll limit set web --write-bps 10MiB   limits the container "web"
  plimsoll limit verify web                  measures its limits, in half a minute
  plimsoll run caps --quick                  tries limits on containers of its own

Who gives me a volume with a size and limits?
  plimsoll volume create db --capacity 20GB  makes one
  plimsoll daemon --volumes                  lets Docker make them: -d plimsoll

Results go to standard output, messages to standard error; --json prints results
for programs.
` + layout.Wrap("Exit status: "+shortExits()+".", 80),
		Example: `  plimsoll doctor
  plimsoll run --quick --out .
  plimsoll run my-plan.yaml
  plimsoll fio job.fio --engine docker --place volume
  plimsoll results ls
  plimsoll report last -o report.html`,
		Version:       version,
		Args:          needsSubcommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.PersistentFlags().StringVar(&a.stateDir, "state", paths.State(), "folder of the database and of Plimsoll's own data")
	notEmpty(root, "state")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(helpCommand())
	root.AddCommand(a.runCommand(), a.planCommand(), a.resultsCommand(), a.reportCommand(), a.limitCommand(), a.watchCommand(), a.daemonCommand(), a.doctorCommand(), a.checkCommand(), a.versionCommand(), exitTopic())
	root.AddCommand(a.selfcheckCommand(), a.verifyCommand(), a.profileCommand(), a.volumeCommand())
	root.AddCommand(a.dialectCommands()...)
	completeWith(root)
	return root
}
