package export

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/perf/benchfmt"

	"plimsoll/internal/measure/record"
	"plimsoll/internal/text/clean"
)

// A benchWriter writes one line per trial in the format of Go's benchmarks, which benchstat reads:
// https://golang.org/design/14313-benchmark-format. Failed trials have no form there and are left out.
//
// benchstat makes a table of its own for each combination of the configuration lines. They have only what figures should not be
// compared across silently, and no run or time, because then no two runs would be in one table.
type benchWriter struct {
	out    *benchfmt.Writer
	headed bool
	config []benchfmt.Config
}

func newBenchWriter(w io.Writer) *benchWriter { return &benchWriter{out: benchfmt.NewWriter(w)} }

// benchBetter says of each unit which values are better. benchstat knows that of ns/op and MB/s alone.
var benchBetter = []struct{ unit, better string }{{"ns/op", "lower"}, {"MB/s", "higher"}, {"ops/s", "higher"}, {"p50-ns", "lower"}, {"p99-ns", "lower"}}

func (e *benchWriter) run(r *record.Run) error {
	if !e.headed {
		e.headed = true
		for _, u := range benchBetter {
			m := &benchfmt.UnitMetadata{UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: u.unit, Key: "better"}, OrigUnit: u.unit, Value: u.better}
			if err := e.out.Write(m); err != nil {
				return err
			}
		}
	}
	e.config = nil
	// The first three are the names that go test uses.
	for _, c := range []struct{ key, value string }{
		{"goos", r.Machine.OS}, {"goarch", r.Machine.Arch}, {"cpu", r.Machine.CPUModel}, {"kernel", r.Machine.Kernel}, {"plan", r.Plan},
	} {
		if v := clean.Line(c.value); v != "" {
			e.config = append(e.config, benchfmt.Config{Key: c.key, Value: []byte(v), File: true})
		}
	}
	return nil
}

func (e *benchWriter) trial(t *record.Trial) error {
	c := newRow(t)
	if t.Status != record.Done || c.ops <= 0 || c.elapsed <= 0 {
		return nil
	}
	seconds, bytes := c.elapsed.Seconds(), c.bytes()
	// Of several clients, the figure is over the time from the first one's start to the last one's end.
	switch {
	case t.Value <= 0:
	case t.Metric.Unit == "1/s":
		seconds = float64(c.ops) / t.Value
	case t.Metric.Unit == "B/s":
		seconds = float64(bytes) / t.Value
	case t.Metric.LowerIsBetter():
		seconds = t.Value
	}
	values := []benchfmt.Value{{Value: seconds * 1e9 / float64(c.ops), Unit: "ns/op"}}
	if bytes > 0 {
		values = append(values, benchfmt.Value{Value: float64(bytes) / seconds / 1e6, Unit: "MB/s"})
	}
	values = append(values, benchfmt.Value{Value: float64(c.ops) / seconds, Unit: "ops/s"})
	// As in reports: ten values must lie above a percentile.
	if c.lat.Count() >= 20 {
		values = append(values, benchfmt.Value{Value: float64(c.lat.Percentile(50)), Unit: "p50-ns"})
	}
	if c.lat.Count() >= 1000 {
		values = append(values, benchfmt.Value{Value: float64(c.lat.Percentile(99)), Unit: "p99-ns"})
	}
	return e.out.Write(&benchfmt.Result{Config: e.config, Name: benchfmt.Name(benchName(t.Cell)), Iters: int(c.ops), Values: values})
}

func (e *benchWriter) end() error { return nil }

// bytes are those of the operations that count.
func (t *row) bytes() int64 {
	var n int64
	for i := range t.Results {
		r := &t.Results[i]
		for j, cl := range r.Classes {
			if cl.Name != "sync" && (j == 0 || isIO(cl.Name) && isIO(r.Classes[0].Name)) {
				n += cl.Bytes
			}
		}
	}
	return n
}

// benchName names a cell: "Wal/engine=oci/place=bind/limits=none/clients=1". The clients are last, because Go takes a number
// after a dash at the end, as in place=bind-2, for a number of CPUs.
func benchName(c record.Cell) string {
	name := benchWord(c.Workload)
	if name != "" {
		name = strings.ToUpper(name[:1]) + name[1:]
	}
	name += "/engine=" + benchWord(c.Engine)
	if c.Source != "" {
		name += "/source=" + benchWord(c.Source)
	}
	name += "/place=" + benchWord(c.Place) + "/limits=" + benchWord(c.Limits)
	if c.Control {
		name += "/control=true"
	}
	return fmt.Sprintf("%s/clients=%d", name, c.Clients)
}

// benchWord replaces what would end a name or a part of it.
func benchWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.", r)) {
			return r
		}
		return '_'
	}, s)
}
