package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"plimsoll/internal/conf/strict"
)

// aProfile is what profile add and rm print as JSON.
type aProfile struct {
	Name string `json:"name"`
}

func (a *app) profileAddCommand() *cobra.Command {
	var asJSON, replace bool
	cmd := &cobra.Command{
		Use:   "add NAME FILE|-",
		Short: "Add a profile of your own",
		Long: `Keep a profile under a name, as it is written, comments included. It is checked first;
for any fault the exit status is 2, and nothing is kept. The names of built-in profiles
are taken. Volumes keep the profile that they were made with.`,
		Example: `  plimsoll profile add WEB web.yaml
  plimsoll profile show GOLD | plimsoll profile add WEB - --replace`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
		Args: exactly(2, "a name, and a file or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, text, err := a.readProfileFile(cmd.Context(), args[1])
			if err != nil {
				return err
			}
			err = a.profiles().Add(args[0], file, text, replace)
			var faults strict.Errors
			switch {
			case errors.As(err, &faults):
				return a.printFaults(file, faults)
			case err != nil:
				return err
			case asJSON:
				return a.printJSON(aProfile{args[0]})
			}
			_, err = fmt.Fprintf(a.stdout, "profile %s is kept\n", args[0])
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&replace, "replace", false, "replace a profile of yours that has the name")
	return cmd
}

func (a *app) profileRmCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "rm NAME",
		Short:             "Remove a profile of your own",
		Long:              "Remove a profile of your own. Volumes keep the profile that they were made with.",
		Example:           "  plimsoll profile rm WEB",
		ValidArgsFunction: a.completeProfile,
		Args:              exactly(1, "the name of a profile"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.profiles().Remove(args[0]); err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(aProfile{args[0]})
			}
			_, err := fmt.Fprintf(a.stdout, "profile %s is removed\n", args[0])
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
