package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plimsoll/internal/text/nearest"
)

// suggestWithin is the maximum number of letters in which a suggested command may differ. It is cobra's own default,
// which SuggestionsFor doesn't apply.
const suggestWithin = 2

// helpCommand is cobra's, except that an unknown topic is an error of usage.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND|TOPIC]",
		Short: "Help about any command",
		Long:  "Help about any command, such as \"plimsoll help run\", or topic, such as \"plimsoll help exit-codes\".",
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			about, _, err := c.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []cobra.Completion
			for _, sub := range about.Commands() {
				if sub.IsAvailableCommand() || sub.IsAdditionalHelpTopicCommand() {
					names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil {
				return usageError("%w", err)
			}
			if len(rest) > 0 {
				return unknownCommand(about, rest[0])
			}
			// As cobra's own help command does, so that --help and --version are listed.
			about.InitDefaultHelpFlag()
			about.InitDefaultVersionFlag()
			return about.Help()
		},
	}
}

// needsSubcommand refuses words that are not a subcommand.
func needsSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	return nil
}

// unknownCommand returns the error that cmd has no such command, with suggestions.
func unknownCommand(cmd *cobra.Command, word string) error {
	if !cmd.HasAvailableSubCommands() {
		return usageError("unexpected word %q, because '%s' has no commands: see '%[2]s --help'", word, cmd.CommandPath())
	}
	hint := ": "
	// All letters of a short word may differ from those of any other.
	cmd.SuggestionsMinimumDistance = min(suggestWithin, len(word)-1)
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		hint = ", did you mean " + strings.Join(near, " or ") + "? "
	}
	return usageError("there is no command %q%ssee '%s --help'", cmd.CommandPath()+" "+word, hint, cmd.CommandPath())
}

// valueOf completes the sentence that a flag's value is not what the flag takes, by the type of the flag.
var valueOf = map[string]string{
	"bool":     "true or false: the flag alone means true",
	"duration": "a time: give a number with its unit, as in 500ms, 30s or 2m",
	"int":      "a whole number",
	"float64":  "a number",
}

// flagError makes a faulty flag an error of usage, with suggestions.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var bad *pflag.InvalidValueError
	if errors.As(err, &bad) && bad.GetFlag() != nil {
		if wants := valueOf[bad.GetFlag().Value.Type()]; wants != "" {
			return usageError("--%s %q is not %s", bad.GetFlag().Name, bad.GetValue(), wants)
		}
	}
	if bad != nil && bad.GetFlag() != nil && bad.GetFlag().Value.Type() == "bool" {
		return usageError("--%s=%s: write --%[1]s, or --%[1]s=false", bad.GetFlag().Name, bad.GetValue())
	}
	if !errors.As(err, &unknown) {
		return usageError("%w: see '%s --help'", err, cmd.CommandPath())
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	hint := ": "
	if near := nearest.Word(unknown.GetSpecifiedName(), names); near != "" {
		hint = fmt.Sprintf(", did you mean --%s? ", near)
	}
	return usageError("%w%ssee '%s --help'", err, hint, cmd.CommandPath())
}

// groupFault matches cobra's error for flags that exclude each other, which are the second list.
var groupFault = regexp.MustCompile(`^if any flags in the group \[[^\]]*\] are set none of the others can be; \[([^\]]*)\] were all set$`)

// together rewords the error for flags that exclude each other; it is an error of usage like any other.
func together(err error) error {
	if err == nil {
		return nil
	}
	m := groupFault.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	return usageError("--%s can't be used together", strings.ReplaceAll(m[1], " ", " and --"))
}
