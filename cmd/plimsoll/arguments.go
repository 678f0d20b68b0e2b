package main

import (
	"github.com/spf13/cobra"

	"plimsoll/internal/container/target"
)

// exactly returns a check that makes a wrong number of arguments an error of usage.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError("%s takes %s: see '%s --help'", cmd.CommandPath(), what, cmd.CommandPath())
		}
		return nil
	}
}

// atMost returns a check that makes more than n arguments an error of usage.
func atMost(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return usageError("%s takes %s at most, not %d arguments: see '%s --help'", cmd.CommandPath(), what, len(args), cmd.CommandPath())
		}
		return nil
	}
}

// parseTarget reads a TARGET argument; a bad one is an error of usage.
func parseTarget(name string) (target.Ref, error) {
	ref, err := target.Parse(name)
	if err != nil {
		return target.Ref{}, usageError("%w", err)
	}
	return ref, nil
}

// first returns the first of args, or otherwise if there is none.
func first(args []string, otherwise string) string {
	if len(args) > 0 {
		return args[0]
	}
	return otherwise
}

// atLeast returns a check that makes fewer than n arguments an error of usage. what names what the command takes.
func atLeast(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return usageError("%s takes %s: see '%s --help'", cmd.CommandPath(), what, cmd.CommandPath())
		}
		return nil
	}
}

// oneOrTwo makes other numbers of arguments than a name, and perhaps a file, an error of usage.
func oneOrTwo(cmd *cobra.Command, args []string) error {
	if err := atLeast(1, "a name")(cmd, args); err != nil {
		return err
	}
	return atMost(2, "a name and a file")(cmd, args)
}
