package main

import "github.com/spf13/cobra"

// exactly makes wrong numbers of arguments wrong usage.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError("%s takes %s: see '%s --help'", cmd.CommandPath(), what, cmd.CommandPath())
		}
		return nil
	}
}

// first returns the first of args, or what stands in for it.
func first(args []string, otherwise string) string {
	if len(args) > 0 {
		return args[0]
	}
	return otherwise
}
