package main

import (
	"github.com/spf13/cobra"

	"plimsoll/internal/measure/results"
	"plimsoll/internal/measure/store"
	"plimsoll/plans"
)

// completeWith lists cobra's "completion" in the help, and makes it refuse a shell that it doesn't know.
func completeWith(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Short = "Print the completion script of a shell: bash, zsh, fish or powershell"
			c.Long = "Print the script that makes a shell complete plimsoll's commands, flags, plans and runs."
			c.Example = `  plimsoll completion bash > /etc/bash_completion.d/plimsoll
  plimsoll completion zsh > /usr/local/share/zsh/site-functions/_plimsoll
  plimsoll completion fish > ~/.config/fish/completions/plimsoll.fish`
			c.Args = needsSubcommand
			c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			for _, shell := range c.Commands() {
				shell.Args = exactly(0, "no argument") // cobra's own error would end with status 1.
			}
		}
	}
}

// completePlan offers the built-in plans in addition to files.
func completePlan(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return plans.Names(), cobra.ShellCompDirectiveDefault
}

// completeRuns offers the recorded runs, the newest first. It does not create a database.
func (a *app) completeRuns(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	db, err := a.openResults()
	if err != nil || db == nil {
		return nil, none
	}
	defer db.Close()
	runs, _ := db.Runs(store.Filter{}) // Offer what can be read.
	if len(runs) == 0 {
		return nil, none
	}
	list := []cobra.Completion{cobra.CompletionWithDesc("last", "the run that was started last")}
	for _, r := range runs {
		list = append(list, cobra.CompletionWithDesc(r.ID, r.Plan+", "+results.Time(r.Started)))
	}
	return list, none
}
