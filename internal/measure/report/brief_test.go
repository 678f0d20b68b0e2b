package report

import (
	"encoding/csv"
	"os"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/measure/plan"
	"plimsoll/internal/measure/record"
	"plimsoll/internal/testkit/golden"
	"plimsoll/plans"
)

// exampleRun is the model of a real run of the default plan, 20261127-014633-a615, as far as the short answer rests on it:
// testdata/example-run.csv has the ratios and verdicts of its tables, which docs/example.txt shows.
func exampleRun(t *testing.T) *Report {
	t.Helper()
	text, err := plans.Get(plans.Default)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Parse("places", text)
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]string{}
	for _, w := range p.Workloads {
		words[w.Name] = everydayWords(w)
	}
	file, err := os.Open("testdata/example-run.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	r := &Report{Question: Question, Run: record.Run{Plan: "places", ID: "20261127-014633-a615", Blocks: 20, Margin: 0.05, Status: record.Done,
		Safety: []record.PlaceSafety{{Engine: "docker", Place: "bind", Uses: []record.Use{{Name: "SQLite, WAL mode", Safe: record.SafeYes}, {Name: "PostgreSQL", Safe: record.SafeYes}}}}}}
	num := func(s string) Num {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return Unknown
		}
		return Num(x)
	}
	for _, row := range rows[1:] {
		if n := len(r.Workloads); n == 0 || r.Workloads[n-1].Name != row[0] {
			// The capacity keeps the cells in their place, since they refer to one another.
			r.Workloads = append(r.Workloads, Workload{Name: row[0], Baseline: row[1], everyday: words[row[0]], Cells: make([]Cell, 0, 10)})
		}
		w := &r.Workloads[len(r.Workloads)-1]
		engine, place, _ := strings.Cut(row[1], " ")
		c := Cell{Cell: record.Cell{Workload: row[0], Engine: engine, Place: place, Limits: "none", Clients: 1}, Label: row[1], Kind: Kind(row[6]), N: 20, Median: num(row[2])}
		c.Control, c.Disk.Memory = c.Kind == Control, place == "tmpfs"
		if c.Kind != Base {
			c.own = &w.Cells[0]
			c.Compared = &Compared{Against: c.own.Label, Ratio: num(row[3]), Low: num(row[4]), High: num(row[5]), N: 20}
		}
		w.Cells = append(w.Cells, c)
	}
	r.answer(Options{})
	r.brief()
	return r
}

// TestAnswerOfARealRun: the short answer to a real run of the default plan has fifteen lines, and all verdicts of the run.
func TestAnswerOfARealRun(t *testing.T) {
	r := exampleRun(t)
	for width, file := range map[int]string{100: "example-answer-100.txt", 80: "example-answer-80.txt"} {
		var b strings.Builder
		p := textPage{printer: printer{w: &b}, r: r, width: width, paint: noPaint}
		p.brief()
		if n := strings.Count(strings.TrimSpace(b.String()), "\n"); width == 100 && n > 20 {
			t.Errorf("the answer has %d lines:\n%s", n, b.String())
		}
		golden.Check(t, file, b.String())
	}
}
