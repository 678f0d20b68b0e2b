package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/measure/report"
	"plimsoll/internal/testkit/disktest"
)

// plantedWait is longer than any that a busy machine makes.
const plantedWait = 400 * time.Millisecond

// TestLieRareStall plants a wait in some of a place's trials. Ratios of typical blocks don't show it: the typical block has none. The
// report says that the place stalls, and does not count it among those that are as good as any.
func TestLieRareStall(t *testing.T) {
	t.Parallel()
	needRun(t)
	steady, stalling := disktest.NewSlowFS(t, false), disktest.NewSlowFS(t, false)
	// A write after a pause is the first of a trial. The one after a wait looks like another, so every third trial waits.
	var mu sync.Mutex
	var last time.Time
	trials := 0
	stalling.Match = func(string, int) bool {
		mu.Lock()
		defer mu.Unlock()
		first := time.Since(last) > 50*time.Millisecond
		if last = time.Now(); first {
			trials++
		}
		return first && trials%4 == 0
	}
	stalling.Plan(map[string]time.Duration{"write": plantedWait})
	plan := strings.NewReplacer("STEADY", steady.Dir, "STALLING", stalling.Dir).Replace(`
name: stalls
workloads: {append: {kind: append, runtime: 60ms}}
engines: [host]
places: {steady: {kind: dir, path: STEADY}, stalling: {kind: dir, path: STALLING}}
baseline: {engine: host, place: steady}
blocks: 25
`)
	r := plimsoll(t, t.Context(), t.TempDir(), plan, "run", "-", "--json")
	if r.status != exitDone {
		t.Fatalf("it ended with %d: %s", r.status, r.stderr)
	}
	var doc struct{ Reports []*report.Report }
	if err := json.Unmarshal([]byte(r.stdout), &doc); err != nil || len(doc.Reports) != 1 {
		t.Fatalf("%d reports, %v", len(doc.Reports), err)
	}
	rep := doc.Reports[0]
	cells := rep.Workloads[0].Cells
	c := cells[slices.IndexFunc(cells, func(c report.Cell) bool { return c.Place == "stalling" })]
	if c.Stalls == nil {
		t.Fatalf("%s: no stall is seen", c.Verdict)
	}
	t.Logf("%s: ratio %v; %+v", c.Verdict, c.Compared.Ratio, *c.Stalls)
	if !c.Stalls.Proven {
		t.Errorf("stalls %+v are not proven", *c.Stalls)
	}
	// On a busy machine the place may be slower by them in the typical block too.
	if c.Kind != report.Slower && !strings.HasSuffix(c.Verdict, ", stalls") {
		t.Errorf("the verdict %q does not say that the place stalls", c.Verdict)
	}
	if got := c.Stalls.Longest; got < plantedWait {
		t.Errorf("the longest wait took %v, want %v at least", got, plantedWait)
	}
	avoid := slices.IndexFunc(rep.Brief, func(p report.Point) bool { return p.Head == "Avoid" })
	if avoid < 0 || !strings.Contains(rep.Brief[avoid].Text+strings.Join(rep.Brief[avoid].Items, "\n"), "host stalling for append") {
		t.Errorf("the answer does not say to avoid it: %+v in %s", rep.Brief, filepath.Base(stalling.Dir))
	}
}
