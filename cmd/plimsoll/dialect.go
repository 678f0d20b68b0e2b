package main

import (
	"github.com/spf13/cobra"

	"plimsoll/internal/measure/dialect/line"
	"plimsoll/internal/state/paths"
)

// dialectCommands returns the commands of the tools whose command lines Plimsoll accepts.
func (a *app) dialectCommands() []*cobra.Command {
	var all []*cobra.Command
	for _, t := range line.Tools() {
		all = append(all, a.dialectCommand(t))
	}
	return all
}

// dialectCommand returns the command of a tool. The tool's own arguments aren't flags of Plimsoll.
func (a *app) dialectCommand(tool line.Tool) *cobra.Command {
	return &cobra.Command{
		Use:                tool.Use,
		Short:              tool.Short,
		Long:               tool.Long + line.Help(tool),
		Example:            tool.Example,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			f, rest, err := line.Split(args)
			if err != nil {
				return err
			}
			if f.Help || len(args) == 0 {
				return cmd.Help()
			}
			if f.State != "" {
				a.stateDir = f.State
			}
			if err := paths.Old(a.stateDir, a.machine()); err != nil {
				return err
			}
			return tool.Run(cmd.Context(), f, rest, args, line.Options{
				Source: a.engines(), Version: version, StateFlag: a.stateFlag(), Hard: a.hardContext(), Stdin: a.stdin, Stdout: a.stdout, Stderr: a.stderr,
			})
		},
	}
}
