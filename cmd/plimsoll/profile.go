package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/conf/strict"
	"plimsoll/internal/conf/userfile"
	"plimsoll/internal/provide/profile"
)

// profileCommand is "plimsoll profile".
func (a *app) profileCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profile",
		Short: "List, show, add and check profiles of volumes",
		Long: `A profile is a YAML file that says what a volume promises: its capacity, how many I/Os
and bytes per second it gets and may use, its copies, and services such as snapshots.
Plimsoll has built-in profiles; you can add your own. Case doesn't matter in names.`,
		Example: `  plimsoll profile ls
  plimsoll profile show GOLD > web.yaml
  plimsoll profile add WEB web.yaml
  plimsoll profile check WEB --backend local`,
		Args: needsSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.profileLsCommand(), a.profileShowCommand(), a.profileAddCommand(), a.profileRmCommand(), a.profileCheckCommand(), a.profileSchemaCommand())
	return cmd
}

// profiles is the store of the state folder.
func (a *app) profiles() profile.Store { return profile.In(a.stateDir) }

// readProfile returns the profile that arg names: one of the store, a file, or standard input; and its text and file for messages. The name is that of
// the store, or the file's without its end.
func (a *app) readProfile(ctx context.Context, arg string) (name, file string, text []byte, err error) {
	if strict.IsName(arg) {
		// A file of that name needs ./ before it.
		return a.profiles().Text(arg)
	}
	file, text, err = a.readProfileFile(ctx, arg)
	if arg != "-" {
		name = strings.TrimSuffix(filepath.Base(arg), filepath.Ext(arg))
	}
	return name, file, text, err
}

// readProfileFile reads a file, or standard input for "-".
func (a *app) readProfileFile(ctx context.Context, arg string) (file string, text []byte, err error) {
	file = arg
	if arg == "-" {
		file = "standard input"
	}
	text, err = userfile.Read(ctx, userfile.Argument(arg, a.stdin), strict.MaxSize) // profile.Parse reports a longer one.
	switch {
	case errors.Is(err, context.Canceled):
		return "", nil, fmt.Errorf("interrupted while the profile %s was read", file)
	case errors.Is(err, os.ErrNotExist):
		return "", nil, usageError("there is no file %s", file)
	case err != nil:
		return "", nil, usageError("read the profile %s: %w", file, userfile.Reason(err))
	}
	return file, text, nil
}

// namedProfile reads and parses the profile that arg names. Its faults are printed, one per line.
func (a *app) namedProfile(ctx context.Context, arg string) (*profile.Profile, []byte, error) {
	name, file, text, err := a.readProfile(ctx, arg)
	if err != nil {
		return nil, nil, err
	}
	p, err := profile.Parse(file, text)
	if err != nil {
		return nil, nil, a.printFaults(file, err)
	}
	p.Name = name
	return p, text, nil
}

// completeProfile offers the profiles in addition to files.
func (a *app) completeProfile(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	names, _ := a.profiles().Names() // Offer what can be read.
	return names, cobra.ShellCompDirectiveDefault
}
