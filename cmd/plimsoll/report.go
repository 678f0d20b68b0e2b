package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"plimsoll/internal/measure/report"
	"plimsoll/internal/measure/results"
	"plimsoll/internal/measure/store"
)

func (a *app) reportCommand() *cobra.Command {
	var file, format string
	var asJSON, full bool
	c := &cobra.Command{
		Use:   "report RUN...",
		Short: "Print the report of recorded runs, as text, HTML, markdown, JSON or CSV",
		Long: `Prints the report of one or more recorded runs. A run is named by its id, the
beginning of its id, "last", or "last~N" for the Nth before it.

The format is that of --format, else that of the ending of the file given with
-o (.html, .md, .json, .csv, .txt), else text. An HTML report is one file that
needs no network. Text is what 'plimsoll run' prints at its end; --full adds all that
the page has except the pictures. Several runs are reported one after another. The report
never compares them with each other; it says how their machines differ.`,
		Example: `  plimsoll report last
  plimsoll report last --full
  plimsoll report last -o report.html
  plimsoll report 20261121 --format json`,
		ValidArgsFunction: a.completeRuns,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("report needs a run, such as last: see 'plimsoll results ls%s'", a.stateFlag())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON {
				if format != "" && format != "json" {
					return usageError("--json and --format %s contradict each other", format)
				}
				format = "json"
			}
			return a.report(cmd.Context(), args, file, format, full)
		},
	}
	c.Flags().StringVarP(&file, "output", "o", "", "file to write, whole or not at all; - is standard output")
	c.Flags().BoolVar(&asJSON, "json", false, "the same as --format json")
	c.Flags().BoolVar(&full, "full", false, "text: the tables of all workloads, with every warning and the last messages of failed trials, and what each place costs over all of them")
	c.Flags().StringVar(&format, "format", "", strings.Join(report.Formats, ", ")+" (default: by the file's ending, else text)")
	return c
}

// report prints the runs that refs name.
func (a *app) report(ctx context.Context, refs []string, file, format string, full bool) error {
	if file == "-" {
		file = ""
	}
	format, err := report.Choose(file, format)
	if err != nil {
		return err
	}
	if full && format != "text" {
		return usageError("--full is for text: %s always has everything", format)
	}
	var reports []*report.Report
	err = a.withRuns(refs, func(db *store.Store, ids []string) error {
		for _, id := range ids {
			r, err := results.Report(db, id, report.Options{Flags: a.stateFlag()}, a.damaged)
			if err != nil {
				return err
			}
			reports = append(reports, r)
		}
		return nil
	})
	if err != nil {
		return err
	}
	set := report.NewSet(reports...)
	term := terminal(a.stdout)
	term.Full = full
	if !full && len(reports) == 1 {
		term.More = a.whereMore(reports[0].Run.ID, "")
	}
	if file == "" {
		return report.Render(a.stdout, format, set, term)
	}
	if err := a.spareDatabase(file); err != nil {
		return err
	}
	// A text file has the default width and no colours.
	if err := writeFile(ctx, file, func(w io.Writer) error { return report.Render(w, format, set, report.Terminal{Full: full}) }); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "wrote %s\n", file)
	return nil
}
