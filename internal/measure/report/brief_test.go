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
		Safety: []record.PlaceSafety{{Engine: "docker", Place: "bind"}}}}
	for _, name := range []string{"SQLite, WAL mode", "PostgreSQL", "MySQL, MariaDB", "MongoDB", "LMDB", "log files with several writers"} {
		r.Run.Safety[0].Uses = append(r.Run.Safety[0].Uses, record.Use{Name: name, Safe: record.SafeYes})
	}
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

// TestAnswerOfARealRun: the short answer to a real run of the default plan is on the screen at once, with the commands below it.
func TestAnswerOfARealRun(t *testing.T) {
	r := exampleRun(t)
	for width, file := range map[int]string{100: "example-answer-100.txt", 80: "example-answer-80.txt"} {
		var b strings.Builder
		p := textPage{printer: printer{w: &b}, r: r, width: width, paint: noPaint}
		p.brief()
		if n := strings.Count(strings.TrimSpace(b.String()), "\n"); width == 100 && n > 19 {
			t.Errorf("the answer has %d lines:\n%s", n, b.String())
		}
		golden.Check(t, file, b.String())
	}
}

// TestChoice: a place is named if a verdict proves it, and never if it is memory, less safe, in doubt or of too few blocks.
func TestChoice(t *testing.T) {
	base := &Cell{Cell: record.Cell{Engine: "host", Place: "dir"}, Kind: Base, N: 6}
	at := func(place string, kind Kind, low, high Num) *Cell {
		return &Cell{Cell: record.Cell{Engine: "oci", Place: place}, Kind: kind, N: 6, own: base, Compared: &Compared{Ratio: (low + high) / 2, Low: low, High: high}}
	}
	with := func(c *Cell, change func(*Cell)) *Cell {
		change(c)
		return c
	}
	doubt := func(c *Cell) { c.Doubt = true }
	stalls := func(c *Cell) { c.Stalls = &Stalls{Trials: 9, Of: 20, Proven: true} }
	for _, row := range []struct {
		others []*Cell
		want   string
	}{
		{nil, ""},
		{[]*Cell{at("bind", Faster, 1.02, 1.08), at("layer", Inconclusive, 0.9, 1.3)}, "w: oci bind (faster by 2.0-8.0 %)"},
		{[]*Cell{at("bind", Faster, 1.02, 1.08), at("layer", Faster, 1.1, 1.3)}, "w: oci layer (faster by 10-30 %)"},
		{[]*Cell{at("bind", Faster, 1.02, 1.18), at("layer", Faster, 1.1, 1.3)}, "w: oci layer (faster by 10-30 %) or oci bind (faster by 2-18 %)"},
		{[]*Cell{with(at("bind", Faster, 1.02, 1.08), doubt), at("layer", Inconclusive, 0.9, 1.3)}, "w: any place but oci bind (in doubt); the others are not measurably slower (10 % at most)"},
		{[]*Cell{with(at("tmpfs", Faster, 9, 11), func(c *Cell) { c.Disk.Memory = true }), at("bind", Equivalent, 0.98, 1.02)}, "w: any place; all are equal to host dir within 5 %"},
		{[]*Cell{with(at("fast", Faster, 2, 3), func(c *Cell) { c.Unsafe = true }), at("bind", Slower, 0.8, 0.9)}, "w: host dir; every other place that keeps data is slower"},
		{[]*Cell{at("bind", Slower, 0.8, 0.9), at("layer", Slower, 0.4, 0.5)}, "w: host dir; every other place that keeps data is slower, least oci bind (slower by 10-20 %)"},
		{[]*Cell{at("bind", Equivalent, 0.951, 1.02), at("volume", Inconclusive, 0.97, 1.09)}, "w: any place; none is measurably slower (5 % at most)"},
		{[]*Cell{at("bind", Equivalent, 0.97, 1.02), at("volume", Inconclusive, 0.14, 6)}, "w: any place but oci volume (not known); the others are equal to host dir within 5 %"},
		{[]*Cell{at("bind", Equivalent, 0.97, 1.02), with(at("volume", Equivalent, 0.98, 1.02), stalls)}, "w: any place but oci volume (stalls); the others are equal to host dir within 5 %"},
		{[]*Cell{with(at("bind", Faster, 1.1, 1.3), stalls), at("volume", Slower, 0.8, 0.9)}, "w: host dir; every other place that keeps data is slower or stalls"},
		{[]*Cell{with(at("bind", Slower, 0.8, 0.9), func(c *Cell) { c.Compared.Tentative = true })}, ""},
		{[]*Cell{with(at("bind", Equivalent, 0.98, 1.02), doubt)}, ""},
		{[]*Cell{at("bind", Slower, 0.8, 0.9), {Cell: record.Cell{Engine: "oci", Place: "layer"}, Kind: Failed}}, "w: host dir; every other place that keeps data is slower or failed"},
	} {
		r := &Report{Run: record.Run{Margin: 0.05}}
		if got := strings.Join(r.bestLines([]*scene{{name: "w", base: base, others: row.others}}), " | "); got != row.want {
			t.Errorf("the best place is %q, want %q", got, row.want)
		}
	}
}

// TestLosses: places are one loss if they are slower in the same scenes and their intervals don't tell them apart.
func TestLosses(t *testing.T) {
	base := &Cell{Cell: record.Cell{Engine: "host", Place: "dir"}, Kind: Base, N: 6}
	slower := func(engine string, low, high Num, doubt bool) *Cell {
		return &Cell{Cell: record.Cell{Engine: engine, Place: "layer"}, Kind: Slower, N: 6, Doubt: doubt, own: base, Compared: &Compared{Ratio: (low + high) / 2, Low: low, High: high}}
	}
	for _, row := range []struct {
		a, b *Cell
		want string
	}{
		{slower("oci", 0.63, 0.68, false), slower("docker", 0.61, 0.66, false), "oci layer and docker layer for w (slower by 32-39 %)"},
		{slower("oci", 0.8, 0.9, false), slower("docker", 0.3, 0.4, false), "docker layer for w (2.5-3.4 times slower) | oci layer for w (slower by 10-20 %)"},
		{slower("oci", 0.8, 0.9, false), slower("docker", 0.3, 0.4, true), "oci layer for w (slower by 10-20 %) | perhaps docker layer for w (2.5-3.4 times slower)"},
	} {
		var got []string
		for _, l := range (&Report{}).losses([]*scene{{name: "w", base: base, others: []*Cell{row.a, row.b}}}) {
			got = append(got, l.text())
		}
		if s := strings.Join(got, " | "); s != row.want {
			t.Errorf("losses: %q, want %q", s, row.want)
		}
	}
}
