package results

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"plimsoll/hist"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/stats"
	"plimsoll/internal/measure/store"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/clean"
	"plimsoll/internal/text/size"
)

// An overview is what "results show" prints about a run's trials.
type overview struct {
	keys     []string
	cells    map[string]*cellView
	failed   []record.Trial
	warnings []warningView
	damaged  []error
	// missing says how many records are hidden by damage.
	missing store.Missing
}

// A cellView is a line in the list of cells.
type cellView struct {
	metric         workload.Metric
	values         []float64
	failed, doubts int
	lat            hist.Histogram
}

// A warningView is a warning that several trials have in the same words, except for the figures, which are those of the
// first trial.
type warningView struct {
	record.Warning
	trials int
	// where is the first trial.
	where string
}

// overlook reads a run's trials and keeps little of each.
func overlook(db *store.Store, id string) (*overview, error) {
	o := &overview{cells: make(map[string]*cellView)}
	seen := make(map[string]int)
	for t, err := range db.EachTrial(id, store.TrialsOptions{Histograms: true}) {
		var bad *store.DamageError
		switch {
		case errors.As(err, &bad):
			o.damaged = append(o.damaged, err)
			o.missing.Add(bad)
			continue
		case err != nil:
			return nil, err
		}
		o.cell(&t)
		counted := map[int]bool{} // Clients may have the same warning.
		for _, w := range t.Warnings {
			at := w.Severity + "\x00" + w.Check + "\x00" + figures.ReplaceAllString(w.Text, "#")
			i, ok := seen[at]
			if !ok {
				i = len(o.warnings)
				seen[at] = i
				o.warnings = append(o.warnings, warningView{Warning: w, where: trialName(&t)})
			}
			if !counted[i] {
				counted[i] = true
				o.warnings[i].trials++
			}
		}
	}
	slices.Sort(o.keys)
	// "doubt" comes before "note".
	slices.SortStableFunc(o.warnings, func(a, b warningView) int { return strings.Compare(a.Severity, b.Severity) })
	return o, nil
}

// figures matches the parts in which the same warning of two trials differs.
var figures = regexp.MustCompile(`[0-9][0-9.,]*( ?(B|[KMGT]iB|ns|µs|ms|s)\b)?`)

// cell adds a trial to its cell.
func (o *overview) cell(t *record.Trial) {
	c := o.cells[t.Key]
	if c == nil {
		c = new(cellView)
		o.cells[t.Key] = c
		o.keys = append(o.keys, t.Key)
	}
	if t.Status == record.Failed {
		c.failed++
		t.Results = nil
		o.failed = append(o.failed, *t)
		return
	}
	if slices.ContainsFunc(t.Warnings, func(w record.Warning) bool { return w.Severity == record.Doubt }) {
		c.doubts++
	}
	c.metric = t.Metric
	c.values = append(c.values, t.Value)
	for i := range t.Results {
		if cl := t.Results[i].Classes; len(cl) > 0 {
			c.lat.Merge(cl[0].Lat)
		}
	}
}

func printCells(w io.Writer, o *overview) {
	if len(o.keys) == 0 {
		fmt.Fprintf(w, "\nNo trial is recorded.\n")
		return
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CELL\tN\tFAILED\tIN DOUBT\tMEDIAN\tLEAST\tMOST\tP50\tP99\tMETRIC")
	for _, key := range o.keys {
		c := o.cells[key]
		fmt.Fprintf(t, "%s\t%d\t%d\t%d", clean.Text(key), len(c.values), c.failed, c.doubts)
		if len(c.values) == 0 {
			fmt.Fprintln(t, "\t-\t-\t-\t-\t-\t-")
			continue
		}
		slices.Sort(c.values)
		for _, v := range []float64{stats.Median(c.values), c.values[0], c.values[len(c.values)-1]} {
			fmt.Fprintf(t, "\t%s", figure(v, c.metric))
		}
		for _, p := range []float64{50, 99} {
			if c.lat.Count() == 0 {
				fmt.Fprint(t, "\t-")
				continue
			}
			fmt.Fprintf(t, "\t%s", size.Duration(time.Duration(c.lat.Percentile(p))))
		}
		fmt.Fprintf(t, "\t%s\n", clean.Text(c.metric.Name))
	}
	t.Flush()
}

// figure formats a value of a metric with its unit.
func figure(v float64, m workload.Metric) string {
	switch m.Unit {
	case "B/s":
		return size.Rate(v)
	case workload.Seconds:
		return size.Duration(time.Duration(v * float64(time.Second)))
	case "1/s":
		return size.Count(v) + "/s"
	}
	return size.Count(v) + " " + clean.Text(m.Unit)
}
