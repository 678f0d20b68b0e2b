package export

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/hist"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/measure/steady"
	"plimsoll/internal/measure/workload"
	"plimsoll/internal/text/clean"
)

// A column is a column of exported trials. Names never change, and columns are added at the end.
// docs/reference/results.md explains them; a test checks that it does.
type column struct {
	name  string
	value func(t *row) string
}

// A row is a trial with its clients added up.
type row struct {
	*record.Trial
	ops, syncs, verified   int64
	elapsed                time.Duration // of the client that took longest
	user, system           time.Duration
	throttled              time.Duration
	lat, response, syncLat hist.Histogram
	ioEngine, class        string
	truth                  record.Truth // of all devices
	doubts, notes          int
}

var columns = []column{
	{"run", func(t *row) string { return cell(t.Run) }},
	{"block", func(t *row) string { return strconv.Itoa(t.Block) }},
	{"order", func(t *row) string { return strconv.Itoa(t.Order) }},
	{"key", func(t *row) string { return cell(t.Key) }},
	{"workload", func(t *row) string { return cell(t.Cell.Workload) }},
	{"engine", func(t *row) string { return cell(t.Cell.Engine) }},
	{"place", func(t *row) string { return cell(t.Cell.Place) }},
	{"limits", func(t *row) string { return cell(t.Cell.Limits) }},
	{"clients", func(t *row) string { return strconv.Itoa(t.Cell.Clients) }},
	{"control", func(t *row) string { return strconv.FormatBool(t.Cell.Control) }},
	{"started", func(t *row) string { return csvTime(t.Started) }},
	{"status", func(t *row) string { return cell(t.Status) }},
	{"metric", func(t *row) string { return cell(t.Metric.Name) }},
	{"unit", func(t *row) string { return cell(t.Metric.Unit) }},
	{"value", func(t *row) string {
		if t.Status != record.Done {
			return ""
		}
		return strconv.FormatFloat(t.Value, 'g', -1, 64)
	}},
	{"wall_ns", func(t *row) string { return csvInt(int64(t.Wall)) }},
	{"overhead_ns", func(t *row) string { return csvInt(int64(t.Overhead)) }},
	{"session_open_ns", func(t *row) string { return csvInt(int64(t.SessionOpen)) }},
	{"start_skew_ns", func(t *row) string { return csvInt(int64(t.StartSkew)) }},
	{"io_engine", func(t *row) string { return cell(t.ioEngine) }},
	{"elapsed_ns", func(t *row) string { return t.measured(int64(t.elapsed)) }},
	{"class", func(t *row) string { return cell(t.class) }},
	{"ops", func(t *row) string { return t.measured(t.ops) }},
	{"p50_ns", percentile(50)},
	{"p90_ns", percentile(90)},
	{"p99_ns", percentile(99)},
	{"p999_ns", percentile(99.9)},
	{"min_ns", percentile(0)},
	{"max_ns", percentile(100)},
	{"mean_ns", func(t *row) string {
		if t.lat.Count() == 0 {
			return ""
		}
		return strconv.FormatFloat(t.lat.Mean(), 'f', 1, 64)
	}},
	{"response_p50_ns", func(t *row) string { return csvPercentile(&t.response, 50) }},
	{"response_p99_ns", func(t *row) string { return csvPercentile(&t.response, 99) }},
	{"response_max_ns", func(t *row) string { return csvPercentile(&t.response, 100) }},
	{"syncs", func(t *row) string { return t.measured(t.syncs) }},
	{"sync_p50_ns", func(t *row) string { return csvPercentile(&t.syncLat, 50) }},
	{"sync_p99_ns", func(t *row) string { return csvPercentile(&t.syncLat, 99) }},
	{"user_ns", func(t *row) string { return t.measured(int64(t.user)) }},
	{"system_ns", func(t *row) string { return t.measured(int64(t.system)) }},
	{"throttled_ns", func(t *row) string { return t.measured(int64(t.throttled)) }},
	{"app_read_bytes", func(t *row) string { return t.measured(t.truth.AppRead) }},
	{"app_written_bytes", func(t *row) string { return t.measured(t.truth.AppWritten) }},
	{"proc_read_bytes", func(t *row) string { return t.measured(t.truth.ProcRead) }},
	{"proc_written_bytes", func(t *row) string { return t.measured(t.truth.ProcWritten) }},
	{"cgroup_read_bytes", func(t *row) string { return t.measured(t.truth.CgroupRead) }},
	{"cgroup_written_bytes", func(t *row) string { return t.measured(t.truth.CgroupWritten) }},
	{"device", func(t *row) string { return cell(t.truth.Device) }},
	{"device_read_bytes", func(t *row) string { return t.measured(t.truth.DeviceRead) }},
	{"device_written_bytes", func(t *row) string { return t.measured(t.truth.DeviceWritten) }},
	{"device_busy_ns", func(t *row) string { return t.measured(int64(t.truth.DeviceBusy)) }},
	{"fs_type", func(t *row) string { return t.place(func(w record.Where) string { return w.FSType }) }},
	{"runtime", func(t *row) string { return t.place(func(w record.Where) string { return w.Runtime }) }},
	{"daemon", func(t *row) string { return t.place(func(w record.Where) string { return w.Daemon }) }},
	{"storage", func(t *row) string { return t.place(func(w record.Where) string { return w.Storage }) }},
	{"kernel", func(t *row) string { return t.place(func(w record.Where) string { return w.Kernel }) }},
	{"doubts", func(t *row) string { return strconv.Itoa(t.doubts) }},
	{"notes", func(t *row) string { return strconv.Itoa(t.notes) }},
	{"warnings", func(t *row) string { return cell(warningTexts(t.Warnings)) }},
	{"phase", func(t *row) string { return cell(t.Phase) }},
	{"error", func(t *row) string { return cell(t.Error) }},
	{"offered_iops", arrivals(func(a workload.Arrivals) string { return strconv.FormatFloat(a.Offered, 'g', -1, 64) })},
	{"achieved_iops", arrivals(func(a workload.Arrivals) string { return strconv.FormatFloat(a.Achieved, 'g', -1, 64) })},
	{"late", arrivals(func(a workload.Arrivals) string { return csvInt(a.Late) })},
	{"missed", arrivals(func(a workload.Arrivals) string { return csvInt(a.Missed) })},
	{"max_late_ns", arrivals(func(a workload.Arrivals) string { return csvInt(int64(a.MaxLate)) })},
	{"steady", steadiness(func(f steady.Finding, _ int) string { return strconv.FormatBool(f.Steady) })},
	{"steady_after_ns", steadiness(func(f steady.Finding, _ int) string {
		if !f.Steady {
			return ""
		}
		return csvInt(int64(f.After))
	})},
	{"rounds", steadiness(func(_ steady.Finding, rounds int) string { return strconv.Itoa(rounds) })},
	{"verified_bytes", func(t *row) string {
		if !t.Spec.Job.Verify {
			return ""
		}
		return t.measured(t.verified)
	}},
	{"source", func(t *row) string { return cell(t.Cell.Source) }},
	{"source_fs_type", func(t *row) string {
		return t.place(func(w record.Where) string {
			if w.From == nil {
				return ""
			}
			return w.From.FSType
		})
	}},
	{"source_resident", func(t *row) string {
		if len(t.Results) == 0 || t.Results[0].Source == nil || t.Results[0].Source.Resident < 0 {
			return ""
		}
		return strconv.FormatFloat(t.Results[0].Source.Resident, 'g', 4, 64)
	}},
	{"exit_status", func(t *row) string {
		if end := t.CommandEnd(); end != nil {
			return strconv.Itoa(end.Exit)
		}
		return ""
	}},
	{"isolation", func(t *row) string { return t.place(func(w record.Where) string { return w.Isolation }) }},
}

// arrivals prints a figure of an open loop, or nothing for other trials.
func arrivals(print func(workload.Arrivals) string) func(*row) string {
	return func(t *row) string {
		a, ok := workload.ArrivalsOf(t.Spec.Job, t.Results)
		if !ok || len(t.Results) == 0 {
			return ""
		}
		return print(a)
	}
}

// steadiness prints a figure of a job with a steady state, with its number of rounds, or nothing for other trials.
func steadiness(print func(steady.Finding, int) string) func(*row) string {
	return func(t *row) string {
		f, ok := workload.Steadiness(t.Results, t.Metric)
		if !ok {
			return ""
		}
		return print(f, len(t.Results[0].Rounds.Each))
	}
}

// measured prints a figure of the measured window, or nothing if there was no window or the figure is -1, unknown.
func (t *row) measured(n int64) string {
	if len(t.Results) == 0 || n < 0 {
		return ""
	}
	return csvInt(n)
}

// place returns a word about where the clients' data was; if they differ, each word once.
func (t *row) place(word func(record.Where) string) string {
	var words []string
	for _, w := range t.Where {
		if s := word(w); !slices.Contains(words, s) {
			words = append(words, s)
		}
	}
	return cell(strings.Join(words, " + "))
}

func csvInt(n int64) string { return strconv.FormatInt(n, 10) }

func csvTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func percentile(p float64) func(*row) string {
	return func(t *row) string { return csvPercentile(&t.lat, p) }
}

func csvPercentile(h *hist.Histogram, p float64) string {
	if h.Count() == 0 {
		return ""
	}
	return csvInt(h.Percentile(p))
}

func warningTexts(all []record.Warning) string {
	var texts []string
	for _, w := range all {
		texts = append(texts, fmt.Sprintf("%s (%s): %s", w.Severity, w.Check, w.Text))
	}
	return strings.Join(texts, "; ")
}

// cell keeps a spreadsheet from interpreting foreign text as a formula
// (https://owasp.org/www-community/attacks/CSV_Injection), and removes control characters.
func cell(s string) string {
	s = strings.Join(strings.Fields(clean.Text(s)), " ")
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}

// newRow adds up the clients. The first class counts; the reads and writes of a block job count together.
func newRow(t *record.Trial) *row {
	c := &row{Trial: t, truth: t.Total()}
	for i := range t.Results {
		r := &t.Results[i]
		c.ioEngine = r.IOEngine
		c.elapsed = max(c.elapsed, r.Elapsed)
		c.user += r.Usage.User
		c.system += r.Usage.System
		c.throttled += r.Throttled.Time
		c.ops += r.Ops()
		c.verified += r.Verified.Bytes
		for j, cl := range r.Classes {
			switch {
			case cl.Name == "sync":
				c.syncs += cl.Ops
				c.syncLat.Merge(cl.Lat)
			case j == 0 || isIO(cl.Name) && isIO(r.Classes[0].Name):
				c.lat.Merge(cl.Lat)
				c.response.Merge(cl.Response)
				if i == 0 && c.class != "" {
					c.class += "+"
				}
				if i == 0 {
					c.class += cl.Name
				}
			}
		}
	}
	for _, w := range t.Warnings {
		if w.Severity == record.Doubt {
			c.doubts++
		} else {
			c.notes++
		}
	}
	return c
}

// isIO reports whether a class belongs to a block job.
func isIO(name string) bool { return name == "read" || name == "write" }

// A csvWriter writes one row per trial, after a row with the names of the columns.
type csvWriter struct {
	out    *csv.Writer
	headed bool
	row    []string
}

func newCSVWriter(w io.Writer) *csvWriter {
	return &csvWriter{out: csv.NewWriter(w), row: make([]string, len(columns))}
}

func (e *csvWriter) run(*record.Run) error {
	if e.headed {
		return nil
	}
	e.headed = true
	for i, c := range columns {
		e.row[i] = c.name
	}
	return e.out.Write(e.row)
}

func (e *csvWriter) trial(t *record.Trial) error {
	c := newRow(t)
	for i, col := range columns {
		e.row[i] = col.value(c)
	}
	return e.out.Write(e.row)
}

func (e *csvWriter) end() error {
	e.out.Flush()
	return e.out.Error()
}
