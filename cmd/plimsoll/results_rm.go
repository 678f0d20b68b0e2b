package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"plimsoll/internal/measure/results"
	"plimsoll/internal/measure/store"
)

func (a *app) resultsRmCommand() *cobra.Command {
	var all, yes, asJSON bool
	cmd := &cobra.Command{
		Use:   "rm RUN...",
		Short: "Remove recorded runs with all of their trials",
		Long: `Remove recorded runs with all of their trials, and free their space. This can't be
undone: save them first with plimsoll results export.

It asks before it removes anything. Without a terminal on standard input it can't
ask, and refuses unless --yes is given. If one of the named runs is still being
measured, it removes none of them.`,
		Example: `  plimsoll results rm 20261121-153000-3f9a
  plimsoll results rm last last~1 --yes
  plimsoll results rm --all`,
		ValidArgsFunction: a.completeRuns,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case all && len(args) > 0:
				return usageError("%s takes runs or --all, not both", cmd.CommandPath())
			case !all && len(args) == 0:
				return usageError("%s needs a run, or --all: see 'plimsoll results ls%s'", cmd.CommandPath(), a.stateFlag())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if all {
				return a.removeAll(cmd.Context(), yes, asJSON)
			}
			return a.withRuns(args, func(db *store.Store, ids []string) error { return a.remove(cmd.Context(), db, ids, yes, asJSON) })
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "remove every run")
	cmd.Flags().BoolVar(&yes, "yes", false, "don't ask")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// removeAll removes every run, including runs whose record can't be read.
func (a *app) removeAll(ctx context.Context, yes, asJSON bool) error {
	db, err := a.openResults()
	if err != nil {
		return err
	}
	if db != nil {
		defer db.Close()
		ids, err := db.IDs()
		if err != nil {
			return err
		}
		if len(ids) > 0 {
			return a.remove(ctx, db, ids, yes, asJSON)
		}
	}
	fmt.Fprintf(a.stderr, "No run is recorded in %s.\n", a.stateDir)
	if asJSON {
		return a.printJSON(results.Removal{Removed: []string{}})
	}
	return nil
}

// remove removes runs after asking.
func (a *app) remove(ctx context.Context, db *store.Store, ids []string, yes, asJSON bool) error {
	r, err := results.NewRemoval(db, ids)
	if err != nil {
		return err
	}
	if !yes {
		ok, err := a.confirm(ctx, "Remove "+r.String()+"?")
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("nothing was removed")
		}
	}
	if err := r.Do(db); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "removed %s\n", r)
	if asJSON {
		return a.printJSON(r)
	}
	return nil
}

// confirm asks on the terminal. No answer means no, and so does an interrupt.
func (a *app) confirm(ctx context.Context, question string) (bool, error) {
	f, ok := a.stdin.(*os.File)
	if !ok || !isatty.IsTerminal(f.Fd()) && !isatty.IsCygwinTerminal(f.Fd()) {
		return false, usageError("there is no terminal to ask for confirmation: give --yes to remove")
	}
	fmt.Fprintf(a.stderr, "%s [y/N] ", question)
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(f).ReadString('\n') // At the end of input, use what was read.
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return false, nil
	case word := <-answer:
		return ctx.Err() == nil && (word == "y" || word == "yes"), nil
	}
}
