package results

import (
	"errors"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/report"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/text/size"
)

// Report builds the report of a run. It reports records that can't be read to damaged, one by one, and omits them; the
// report says so.
func Report(db *store.Store, id string, o report.Options, damaged func(error)) (*report.Report, error) {
	run, err := db.Run(id)
	if err != nil {
		return nil, err
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
			return nil, err
		default:
			trials = append(trials, t)
		}
	}
	if missing != (store.Missing{}) {
		text := size.Plural(missing.N, "recorded trial") + " left out: its record can't be read"
		if missing.More {
			text = missing.String() + " can't be read and are left out"
		}
		run.Warnings = append(run.Warnings, record.Warning{Check: "records", Severity: record.Doubt, Text: text})
	}
	return report.Build(run, trials, o), nil
}
