package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"plimsoll/internal/measure/share"
)

func (a *app) resultsCheckCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check FILE",
		Short: "Check a file of runs of others, made with 'results export --share'",
		Long: `Check a file of 'plimsoll results export --share'. The answer is one of three:

closed   A built-in plan was run, unchanged and completely.
open     The plan is another one, or was changed, or only a part of it was run. The keys that
         differ from the built-in plan are listed.
invalid  The file is damaged, was changed, or contradicts itself.

A hash does not prove who made a file: anybody can compute it anew. The check therefore derives
the figure of each trial from its counts, and the report with its verdicts from the trials, and
compares them with those of the file. This makes it hard to invent a result, not impossible.
Warnings of trials are not derived again.

FILE is - for standard input.

Exit status: 0 closed or open; 1 error; 2 wrong usage, or FILE can't be read; 4 invalid.`,
		Example: `  plimsoll results check theirs.json
  plimsoll results check theirs.json --json`,
		Args: exactly(1, "one file"),
		RunE: func(_ *cobra.Command, args []string) error { return a.resultsCheck(args[0], asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// resultsCheck checks a file and prints what was found.
func (a *app) resultsCheck(file string, asJSON bool) error {
	data, err := a.readInput(file)
	if err != nil {
		return usageError("%w", err)
	}
	f, err := share.Check(data, version)
	if err != nil {
		return err
	}
	if asJSON {
		err = a.printJSON(f)
	} else {
		err = f.WriteText(a.stdout, file)
	}
	if err != nil {
		return err
	}
	if f.Verdict == share.Invalid {
		return &exitError{exitNotHeld, fmt.Errorf("%s is invalid", file)}
	}
	return nil
}

// readInput reads a file, or standard input for "-".
func (a *app) readInput(file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(a.stdin)
	}
	return os.ReadFile(file)
}

// sharedReport is the report of a file for others, which must be valid and have one run.
func sharedReport(path string, data []byte) (share.Run, error) {
	runs, err := share.Read(data, version)
	var bad *share.InvalidError
	switch {
	case errors.As(err, &bad):
		return share.Run{}, usageError("%s is invalid: %w", path, err)
	case err != nil:
		return share.Run{}, err
	case len(runs) != 1:
		return share.Run{}, usageError("%s has %d runs: one is needed; 'plimsoll results export RUN --share -o FILE.json' writes one", path, len(runs))
	}
	return runs[0], nil
}
