package results

import (
	"errors"
	"fmt"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/report"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/text/size"
)

// Report builds the report of a run. It reports records that can't be read to damaged, one by one, and omits them; the
// report says so.
func Report(db *store.Store, id string, o report.Options, damaged func(error)) (*report.Report, error) {
	run, trials, err := Records(db, id, damaged)
	if err != nil {
		return nil, err
	}
	return report.Build(run, trials, o), nil
}

// Records reads a run and its trials, with histograms. It reports records that can't be read to damaged, one by one, and omits
// them; a warning of the run says so.
func Records(db *store.Store, id string, damaged func(error)) (record.Run, []record.Trial, error) {
	run, err := db.Run(id)
	if err != nil {
		return run, nil, err
	}
	var trials []record.Trial
	var missing store.Missing
	for t, err := range db.EachTrial(id, store.TrialsOptions{Histograms: true}) {
		var bad *store.DamageError
		switch {
		case errors.As(err, &bad):
			missing.Add(bad)
			damaged(err)
		case err != nil:
			return run, nil, err
		default:
			trials = append(trials, t)
		}
	}
	if missing != (store.Missing{}) {
		if len(trials) == 0 {
			return run, nil, fmt.Errorf("run %s: there is nothing to report, because no record can be read: %s", id, missing.String())
		}
		text := size.Plural(missing.N, "recorded trial") + " left out: their records can't be read"
		if missing.N == 1 {
			text = "1 recorded trial left out: its record can't be read"
		}
		if missing.More {
			text = missing.String() + " can't be read and are left out"
		}
		run.Warnings = append(run.Warnings, record.Warning{Check: "records", Severity: record.Doubt, Text: text})
	}
	return run, trials, nil
}
