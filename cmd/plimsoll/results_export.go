package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"plimsoll/internal/measure/export"
	"plimsoll/internal/measure/store"
)

func (a *app) resultsExportCommand() *cobra.Command {
	var file, format string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "export RUN...",
		Short: "Write every recorded trial of runs as JSON, JSON lines or CSV",
		Long: `Write every recorded trial of one or more runs. JSON and JSON lines hold all that
was recorded, samples and histograms included; JSON lines have one run or trial
a line, which suits big runs. CSV has one row a trial, with its figures and
percentiles in base units. docs/reference/results.md lists the fields.

The format is that of --format, else that of the ending of the file given with
-o (.json, .jsonl, .csv), else JSON. A file is written whole or not at all.

Trials that failed are exported too.`,
		Example: `  plimsoll results export last -o trials.csv
  plimsoll results export last~1 last --format jsonl | gzip > runs.jsonl.gz`,
		ValidArgsFunction: a.completeRuns,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("%s needs a run, such as last: see 'plimsoll results ls%s'", cmd.CommandPath(), a.stateFlag())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if asJSON {
				if format != "" && format != "json" {
					return usageError("--json and --format %s contradict each other", format)
				}
				format = "json"
			}
			if format, err = export.FormatOf(file, format); err != nil {
				return err
			}
			return a.withRuns(args, func(db *store.Store, ids []string) error { return a.exportTo(cmd.Context(), db, ids, format, file) })
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "-", "`FILE` to write, - is standard output")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as --format json")
	cmd.Flags().StringVar(&format, "format", "", "json, jsonl or csv (default: by the file's ending, else json)")
	return cmd
}

// exportTo writes a file. It writes the file even if some records can't be read: the database may be beyond repair.
func (a *app) exportTo(ctx context.Context, db *store.Store, ids []string, format, file string) error {
	if file == "-" || file == "" {
		return export.Write(a.stdout, db, ids, format, a.damaged)
	}
	if err := a.spareDatabase(file); err != nil {
		return err
	}
	var missing *export.MissingError
	err := writeFile(ctx, file, func(w io.Writer) error {
		err := export.Write(w, db, ids, format, a.damaged)
		if errors.As(err, &missing) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "wrote %s\n", file)
	if missing != nil {
		return missing
	}
	return nil
}
