package diskspd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/measure/plan"
	"plimsoll/load"
	"plimsoll/plans"
)

// TestCapsPlan: the workload mixed of the plan caps is what this dialect makes of the published line, but for the size and the
// times, which the plan has smaller, and for what decides nothing of the load.
func TestCapsPlan(t *testing.T) {
	text, err := plans.Get("caps")
	if err != nil {
		t.Fatal(err)
	}
	const line = "diskspd -b8K -d30 -o4 -t8 -h -r -w25 -L -Z1G -c5G iotest.dat"
	if !strings.Contains(string(text), line) {
		t.Errorf("the plan doesn't name the line %s", line)
	}
	p, err := plan.Parse("caps", text)
	if err != nil {
		t.Fatal(err)
	}
	w, ok := p.Workload("mixed")
	if !ok {
		t.Fatal("the plan has no workload mixed")
	}
	test, err := Parse(strings.Fields(line)[1:], ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	jobs := test.Profile.Spans[0].stage(here{}, nil)
	if len(jobs) != 1 {
		t.Fatalf("the line is %d jobs", len(jobs))
	}
	same := func(j load.Job) load.Job {
		j.Size, j.Runtime, j.RampTime = 0, 0, 0
		j.Filename, j.RandSeed = "", 0
		// Figures of each thread, and one processor for each: of eight threads that wait for a disk.
		j.PerJob, j.SplitCPUs = false, false
		// At random offsets no I/O follows another.
		j.OneSequence = false
		if j.Data == "" {
			j.Data = load.DataRandom // The default.
		}
		return j
	}
	if diff := cmp.Diff(same(jobs[0].Job), same(w.Job)); diff != "" {
		t.Errorf("mixed is not the line (-line +mixed): %s", diff)
	}
}
