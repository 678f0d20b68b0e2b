package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/clean"
)

// CSV prints a head line and one row a cell. Figures are in base units (per second, bytes per second, ns); unknown ones are
// empty. Raw trials are in the JSON form.
type CSV struct{}

// csvHead names the columns; docs/reference/report.md explains them.
var csvHead = []string{
	"run", "workload", "engine", "place", "limits", "clients", "control", "metric", "unit",
	"n", "failed", "median", "low", "high", "interval",
	"ratio", "ratio_low", "ratio_high", "p", "wins", "verdict_kind", "verdict", "doubt",
	"p50_ns", "p99_ns", "p999_ns", "max_ns", "cpu_per_op_ns", "disk_read", "disk_write", "io_engine", "warnings", "error",
	"offered", "achieved", "late", "missed", "max_late_ns", "service_p50_ns", "service_p99_ns", "steady_trials", "steady_after_s", "source",
}

// Render implements Renderer.
func (CSV) Render(w io.Writer, s Set) error {
	out := csv.NewWriter(w)
	if err := out.Write(csvHead); err != nil {
		return err
	}
	for _, r := range s.Reports {
		for i := range r.Workloads {
			wl := &r.Workloads[i]
			for j := range wl.Cells {
				if err := out.Write(csvRow(r, wl, &wl.Cells[j])); err != nil {
					return err
				}
			}
			for _, k := range r.Run.Skipped {
				if k.Cell.Workload == wl.Name {
					if err := out.Write(csvSkip(r, wl, k)); err != nil {
						return err
					}
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}

func csvRow(r *Report, w *Workload, c *Cell) []string {
	x := Compared{Ratio: Unknown, Low: Unknown, High: Unknown, P: Unknown}
	wins := ""
	if c.Compared != nil {
		x, wins = *c.Compared, strconv.Itoa(c.Compared.Wins)
	}
	l := Latency{P50: Unknown, P99: Unknown, P999: Unknown, Max: Unknown}
	if have := c.of(w.Class); have != nil {
		l = *have
	}
	var warnings, failures []string
	for _, m := range c.Marks {
		f := w.Footnotes[m-1]
		warnings = append(warnings, f.Severity+": "+f.Text)
	}
	for _, f := range c.Failures {
		failures = append(failures, f.Error)
	}
	return append([]string{
		safe(r.Run.ID), safe(w.Name), safe(c.Engine), safe(c.Place), safe(c.Limits), strconv.Itoa(c.Clients), strconv.FormatBool(c.Control),
		safe(w.Metric.Name), safe(w.Metric.Unit), strconv.Itoa(c.N), strconv.Itoa(c.FailedN),
		plainNum(c.Median), plainNum(c.Low), plainNum(c.High), c.Interval,
		plainNum(x.Ratio), plainNum(x.Low), plainNum(x.High), plainNum(x.P), wins, string(c.Kind), safe(c.Verdict), strconv.FormatBool(c.Doubt),
		plainNum(l.P50), plainNum(l.P99), plainNum(l.P999), plainNum(l.Max), plainNum(c.CPUPerOp),
		plainNum(c.Disk.Read), plainNum(c.Disk.Write), safe(c.IOEngine), safe(strings.Join(warnings, "; ")), safe(strings.Join(failures, "; ")),
	}, append(csvPace(w, c), safe(c.Source))...)
}

// csvPace returns the columns of an open loop and of a steady state, empty where there is none.
func csvPace(w *Workload, c *Cell) []string {
	out := make([]string, 9)
	if o := c.Open; o != nil {
		copy(out, []string{plainNum(o.Offered), plainNum(o.Achieved), strconv.FormatInt(o.Late, 10), strconv.FormatInt(o.Missed, 10), plainNum(o.MaxLate)})
		if l := c.of(w.Class + " (service)"); l != nil {
			out[5], out[6] = plainNum(l.P50), plainNum(l.P99)
		}
	}
	if s := c.Steady; s != nil {
		out[7], out[8] = strconv.Itoa(s.Reached), plainNum(s.After)
	}
	return out
}

func csvSkip(r *Report, w *Workload, k record.Skip) []string {
	row := make([]string, len(csvHead))
	copy(row, []string{
		safe(r.Run.ID), safe(w.Name), safe(k.Cell.Engine), safe(k.Cell.Place), safe(k.Cell.Limits), strconv.Itoa(k.Cell.Clients), "false",
		safe(w.Metric.Name), safe(w.Metric.Unit), "0", "0",
	})
	row[20], row[21] = string(Skipped), safe(k.Reason)
	row[len(row)-1] = safe(k.Cell.Source)
	return row
}

func plainNum(n Num) string {
	if !n.Known() {
		return ""
	}
	return strconv.FormatFloat(float64(n), 'g', 7, 64)
}

// safe prevents a spreadsheet from reading text as a formula (https://owasp.org/www-community/attacks/CSV_Injection), and
// removes control characters.
func safe(s string) string {
	s = clean.Line(s)
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
