package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"plimsoll/internal/measure/export"
	"plimsoll/internal/measure/results"
	"plimsoll/internal/measure/share"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/text/size"
)

func (a *app) resultsExportCommand() *cobra.Command {
	var file, format string
	var asJSON, forOthers bool
	cmd := &cobra.Command{
		Use:   "export RUN...",
		Short: "Write every recorded trial of runs as JSON, JSON lines, CSV or for benchstat",
		Long: `Write every recorded trial of one or more runs. JSON and JSON lines hold all that
was recorded, samples and histograms included; JSON lines have one run or trial
a line, which suits big runs. CSV has one row a trial, with its figures and
percentiles in base units. benchfmt has one line a trial in the format of Go's
benchmarks, for benchstat. docs/reference/results.md lists the fields.

The format is that of --format, else that of the ending of the file given with
-o (.json, .jsonl, .csv, .bench), else JSON. A file is written whole or not at all.

Trials that failed are exported too, except to benchfmt, which has no form for them.

--share writes JSON that a stranger may have: the plan, the seed, the raw figures and the
report, without names of hosts, users and groups, folders, serial numbers and free
texts. 'plimsoll results check' checks such a file. Its hash shows changes; it
does not prove who made it.`,
		Example: `  plimsoll results export last -o trials.csv
  plimsoll results export last --share -o mine.json
  plimsoll results export last -o trials.bench
  plimsoll results export last~1 last --format jsonl | gzip > runs.jsonl.gz`,
		ValidArgsFunction: a.completeRuns,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("%s needs a run, such as last: see 'plimsoll results ls%s'", cmd.CommandPath(), a.stateFlag())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if forOthers {
				return a.exportForOthers(cmd.Context(), args, file, format)
			}
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
	cmd.Flags().StringVar(&format, "format", "", "json, jsonl, csv or benchfmt (default: by the file's ending, else json)")
	cmd.Flags().BoolVar(&forOthers, "share", false, "write JSON that a stranger may have: without names, folders and serial numbers")
	return cmd
}

// exportForOthers writes runs without names. format is that of --format.
func (a *app) exportForOthers(ctx context.Context, refs []string, file, format string) error {
	form, err := export.FormatOf(file, format)
	if format != "" && format != "json" {
		return usageError("--share and --format %s contradict each other: a file for others is JSON", format)
	}
	if err != nil || form != "json" {
		return usageError("a file for others is JSON: name it FILE.json, not %s", file)
	}
	return a.withRuns(refs, func(db *store.Store, ids []string) error {
		lost := 0
		var runs []share.Run
		for _, id := range ids {
			run, trials, err := results.Records(db, id, func(err error) { lost++; a.damaged(err) })
			if err != nil {
				return err
			}
			shared, err := share.Of(run, trials)
			if err != nil {
				return usageError("%w", err)
			}
			runs = append(runs, shared)
		}
		if err := a.writeShared(ctx, runs, file); err != nil || lost == 0 {
			return err
		}
		return fmt.Errorf("%s can't be read and so can't be exported; all others were", size.Plural(lost, "record"))
	})
}

// writeShared writes a file for others, or to standard output for "-".
func (a *app) writeShared(ctx context.Context, runs []share.Run, file string) error {
	if file == "-" || file == "" {
		return share.Write(a.stdout, runs)
	}
	if err := a.spareDatabase(file); err != nil {
		return err
	}
	if err := writeFile(ctx, file, func(w io.Writer) error { return share.Write(w, runs) }); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "wrote %s\n", file)
	return nil
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
