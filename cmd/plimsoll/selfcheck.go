package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/internal/measure/selfcheck"
	"plimsoll/internal/text/size"
)

// selfcheckFlags are the flags of plimsoll selfcheck.
type selfcheckFlags struct {
	dir, fio string
	rounds   int
	runtime  time.Duration
	json     bool
	child    bool
}

func (a *app) selfcheckCommand() *cobra.Command {
	var f selfcheckFlags
	c := &cobra.Command{
		Use:   "selfcheck",
		Short: "Compare Plimsoll's load generator with fio, here and now",
		Long: `Selfcheck runs the same jobs with Plimsoll's own load generator and with fio, interleaved
in a random order, and prints the ratio of IOPS, mean and 99th percentile of the
latency, and CPU time per I/O, each with its interval.

As root it also does so on a loop device that is limited to 500 I/Os a second, where both must
measure the limit. A difference there of more than 5 % beyond the noise is a fault, with exit
status 4. On other storage, differences come from the two generators.`,
		Example: `  plimsoll selfcheck                     about a minute and a half
  plimsoll selfcheck --dir /mnt/data --rounds 12
  plimsoll selfcheck --fio /opt/fio/bin/fio --json`,
		Args: exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.child {
				return selfcheck.Child(cmd.Context(), a.stdin, a.stdout)
			}
			return a.selfcheck(cmd.Context(), f)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.dir, "dir", os.TempDir(), "folder for the file of 256 MiB")
	fl.StringVar(&f.fio, "fio", "fio", "the fio to compare with")
	fl.IntVar(&f.rounds, "rounds", 6, "how often each program measures each job")
	fl.DurationVar(&f.runtime, "runtime", time.Second, "how long each measurement takes")
	fl.BoolVar(&f.json, "json", false, "print the figures as JSON")
	fl.BoolVar(&f.child, "child", false, "do the job on standard input")
	fl.MarkHidden("child")
	return c
}

// selfcheck measures and prints.
func (a *app) selfcheck(ctx context.Context, f selfcheckFlags) error {
	if f.rounds < 1 || f.rounds > 1000 || f.runtime < 100*time.Millisecond || f.runtime > time.Hour {
		return usageError("--rounds must be from 1 to 1000 and --runtime from 100ms to 1h")
	}
	figures, err := selfcheck.Here(ctx, selfcheck.Options{
		Dir: f.dir, State: a.stateDir, Fio: f.fio, Rounds: f.rounds, Runtime: f.runtime, Say: func(text string) { fmt.Fprintln(a.stderr, text) },
	})
	if figures == nil {
		return err
	}
	if f.json {
		err = errors.Join(err, a.printJSON(map[string]any{"tolerance": selfcheck.Tolerance, "rounds": f.rounds, "figures": figures}))
	} else {
		err = errors.Join(err, selfcheck.WriteTable(a.stdout, figures))
	}
	if n := selfcheck.Faults(figures); err == nil && n > 0 {
		err = &exitError{exitNotHeld, fmt.Errorf("%s of Plimsoll and fio disagree on a limited device: one of the two is wrong", size.Plural(n, "figure"))}
	}
	return err
}
