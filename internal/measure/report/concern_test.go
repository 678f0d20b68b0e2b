package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/measure/record"
)

// TestConcernCounts: a kind of warning that a trial has in several words, or for each of its clients, counts once for the trial and once
// for the cell.
func TestConcernCounts(t *testing.T) {
	f := newFixture()
	f.fill(thePlaces[:3], 2)
	for i := range f.trials {
		tr := &f.trials[i]
		warn := func(text string) {
			tr.Warnings = append(tr.Warnings, record.Warning{Check: "neighbour", Severity: record.Doubt, Text: text})
		}
		warn("something else used the disk, and read 3 MiB")
		warn("something else used the disk, and read 4 MiB")
		warn("something else used the disk: it wrote 5 MiB")
		if tr.Block == 0 {
			warn(fmt.Sprintf("something else used the disk, by %d I/Os and more", i))
		}
	}
	r := built(f.run, f.trials)
	if len(r.Concerns) != 1 {
		t.Fatalf("%+v", r.Concerns)
	}
	if c := r.Concerns[0]; c.Trials != len(f.trials) || c.Cells != 4 || c.OfCells != 4 {
		t.Errorf("%d trials in %d of %d cells, want %d in 4 of 4", c.Trials, c.Cells, c.OfCells, len(f.trials))
	}
	for _, w := range r.Workloads {
		if len(w.Footnotes) != 3 || !strings.Contains(w.Footnotes[0].Where, "in 18 of 18 trials") && !strings.Contains(w.Footnotes[0].Where, "in all 18 trials") {
			t.Errorf("%s: %+v", w.Name, w.Footnotes)
		}
	}
}

// TestControlIsNoCell: what is counted in cells counts the A/A control with its baseline. It was "2 trials in 2 of 3 cells" of a plan that has two.
func TestControlIsNoCell(t *testing.T) {
	f := newFixture()
	f.fill(thePlaces[:3], 1)
	var host int
	for i := range f.trials {
		if tr := &f.trials[i]; tr.Cell.Engine == "host" {
			if tr.Block == 0 {
				tr.Warnings = append(tr.Warnings, record.Warning{Check: "neighbour", Severity: record.Doubt, Text: "something else used the disk"})
				host++
			}
			if tr.Block == 1 {
				tr.Status, tr.Error = record.Failed, "no space"
			}
		}
	}
	if host != 2 {
		t.Fatalf("%d trials of the baseline and its control in a block, want 2", host)
	}
	r := built(f.run, f.trials)
	c := r.Concerns[0]
	if c.Trials != 2 || c.Cells != 1 || c.OfCells != 2 {
		t.Errorf("%d trials in %d of %d cells, want 2 in 1 of 2", c.Trials, c.Cells, c.OfCells)
	}
	if !strings.Contains(c.text(), "(2 trials of ") {
		t.Errorf("%q does not count 2 trials", c.text())
	}
	if failed, all := failedCells(r); failed != 1 || all != 2 {
		t.Errorf("%d of %d cells had failed trials, want 1 of 2", failed, all)
	}
}

// TestDoubtsAndOrder: a figure in doubt is left out of an order only where there is one.
func TestDoubtsAndOrder(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		f := newFixture()
		layer, noise := 0.5, 0.01
		if !ordered {
			layer, noise = 1, 0.3
		}
		f.fill([]fixturePlace{{"host", "dir", 1, noise, false}, {"oci", "layer", layer, noise, false}, {"oci", "bind", 1, noise, false}}, 2)
		for i := range f.trials {
			if tr := &f.trials[i]; tr.Cell.Place == "bind" && tr.Cell.Workload == specs[0].spec.Name {
				tr.Warnings = append(tr.Warnings, record.Warning{Check: "neighbour", Severity: record.Doubt, Text: "something else used the disk"})
			}
		}
		r := built(f.run, f.trials)
		if (r.Order != NoOrder) != ordered {
			t.Fatalf("the order is %s", r.Order)
		}
		i := slices.IndexFunc(r.Answers, func(a Answer) bool { return a.Place == "bind" })
		if text := r.Answers[i].Text; !strings.Contains(text, "1 figure is in doubt (!)") || strings.Contains(text, "left out of the order") != ordered {
			t.Errorf("with order %s it says: %s", r.Order, text)
		}
	}
}

// TestDoubtOfHalf: a cell is in doubt if half of its trials have one, whichever. Doubts of several kinds about the same trials
// don't add up.
func TestDoubtOfHalf(t *testing.T) {
	for _, tt := range []struct {
		name string
		by   map[int][]string // checks by block
		want bool
	}{
		{"three kinds on three of six", map[int][]string{0: {"a"}, 1: {"b"}, 2: {"c"}}, true},
		{"three kinds on two of six", map[int][]string{0: {"a", "b", "c"}, 1: {"a", "b", "c"}}, false},
		{"one kind on three", map[int][]string{0: {"a"}, 1: {"a"}, 2: {"a", "a"}}, true},
		{"one kind on two, twice", map[int][]string{0: {"a", "a"}, 1: {"a", "a"}}, false},
	} {
		f := newFixture()
		f.fill(thePlaces[:3], 1)
		for i := range f.trials {
			if tr := &f.trials[i]; tr.Cell.Engine == "oci" {
				for _, c := range tt.by[tr.Block] {
					tr.Warnings = append(tr.Warnings, record.Warning{Check: c, Severity: record.Doubt, Text: c + " is doubted"})
				}
			}
		}
		if c := find(t, built(f.run, f.trials), "randread-deep", "oci layer"); c.Doubt != tt.want {
			t.Errorf("%s: doubt %v, want %v", tt.name, c.Doubt, tt.want)
		}
	}
}
